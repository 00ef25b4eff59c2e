"""Functions of the claims of the pages on the limits of the papers, one module a page."""
