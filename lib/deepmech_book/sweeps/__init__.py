"""Every sweep that ships, and the functions that compute its cells: a package a chapter."""
