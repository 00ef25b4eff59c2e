"""What measures the claims of paper C, a module a page."""
