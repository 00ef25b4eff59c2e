"""Functions of the claims of the laws of layers, one module a page."""
