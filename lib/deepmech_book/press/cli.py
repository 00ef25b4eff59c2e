"""Remove this folder after ``pip install -e .``, which writes the new place into the installation."""

from deepmech_book.build.cli import commands

__all__ = ["commands"]
