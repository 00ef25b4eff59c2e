"""Experiments of paper B (Zhang, Wang, Su 2021), one function or sweep per figure."""
