"""deepmech_book: what only the book needs, on top of the library :mod:`deepmech`.

:mod:`~deepmech_book.sweeps`, what the pages compute; the chapters, what they measure of it;
:mod:`~deepmech_book.claims`, the claims and their verdicts; :mod:`~deepmech_book.figures`, its pictures;
:mod:`~deepmech_book.explorers`, the interactive ones; and :mod:`~deepmech_book.build`, which executes the notebooks and
builds the site.
"""

RECORD = "application/vnd.deepmech+json"
"""MIME type under which a notebook's outputs carry figures and claims for the build."""
