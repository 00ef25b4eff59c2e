"""deepmech_book: what only the book needs, on top of the library :mod:`deepmech`.

A folder for each chapter, with what its pages measure; :mod:`~deepmech_book.sweeps`, what they compute;
:mod:`~deepmech_book.claims`, how claims are judged and shown; :mod:`~deepmech_book.figures`, pictures;
:mod:`~deepmech_book.explorers`, the interactive ones; and :mod:`~deepmech_book.build`, which executes the notebooks and
builds the site.
"""

RECORD = "application/vnd.deepmech+json"
"""MIME type under which a notebook's outputs carry figures and claims for the build."""
