"""Compiled engines: the few networks that the papers live on, each in a call of machine code."""
