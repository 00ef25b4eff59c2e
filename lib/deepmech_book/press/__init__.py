"""The press: Jupytext notebooks are executed with a profile, checked, and bound into a site.

:mod:`~.press.sources` reads and checks what is written, :mod:`~.press.keys` says when a result may be reused,
:mod:`~.press.execution` runs one notebook, :mod:`~.press.press` runs them all, :mod:`~.press.pages` writes the status
and scoreboard pages, :mod:`~.press.site` builds the site with Jupyter Book, :mod:`~.press.extension` is its Sphinx
extension and :mod:`~.press.cli` its verbs on the command line.
"""
