"""Jupytext notebooks are executed with a profile, checked, and bound into a site.

:mod:`~.build.sources` reads and checks what is written, :mod:`~.build.keys` says when a result may be reused,
:mod:`~.build.execution` runs one notebook by papermill,
:mod:`~.build.notebooks` runs all of the book, and :mod:`~.build.run` one with parameters of your own.
:mod:`~.build.pages`, :mod:`~.build.gallery` and :mod:`~.build.api` write pages, :mod:`~.build.site` builds the site
with Jupyter Book and its Sphinx extension (:mod:`~.build.extension`), :mod:`~.build.verdicts` compares what was found
with what was, and :mod:`~.build.cli` has the verbs on the command line.
"""
