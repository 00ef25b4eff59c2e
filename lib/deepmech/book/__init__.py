"""The press: Jupytext notebooks are executed with a profile, checked, and bound into a site.

:mod:`~deepmech.book.sources` reads and checks what is written, :mod:`~deepmech.book.keys` says when a result may be
reused, :mod:`~deepmech.book.execution` runs one notebook, :mod:`~deepmech.book.press` runs them all,
:mod:`~deepmech.book.pages` writes the status and scoreboard pages, :mod:`~deepmech.book.site` builds the site with
Jupyter Book, :mod:`~deepmech.book.extension` is its Sphinx extension and :mod:`~deepmech.book.cli` the command line.
"""
