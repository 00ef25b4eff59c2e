"""Functions of the claims of paper B, one module a page (:mod:`deepmech_book.claims.functions`)."""
