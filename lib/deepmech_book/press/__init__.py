"""The press: Jupytext notebooks are executed with a profile, checked, and bound into a site.

:mod:`~.press.sources` reads and checks what is written, :mod:`~.press.keys` says when a result may be reused,
:mod:`~.press.execution` runs one notebook by papermill,
:mod:`~.press.press` runs all of the book, and :mod:`~.press.run` one with parameters of your own.
:mod:`~.press.pages`, :mod:`~.press.gallery` and :mod:`~.press.api` write pages, :mod:`~.press.site` builds the site
with Jupyter Book and its Sphinx extension (:mod:`~.press.extension`), :mod:`~.press.verdicts` compares what was found
with what was, and :mod:`~.press.cli` has the verbs on the command line.
"""
