"""Datasets by name: ``load("digits")`` needs no download; ``deepmech data fetch mnist`` brings the others.

:mod:`~deepmech.data.catalogue` has the published files, :mod:`~deepmech.data.prepare` makes arrays of them, and
:mod:`~deepmech.data.geomnist` draws images.
"""

from deepmech.data.catalogue import (
    DataCorruptError,
    DataError,
    DataMissingError,
    cli_fetch,
    cli_status,
    data_directory,
)
from deepmech.data.prepare import fingerprint, load, names, resize
from deepmech.data.samples import Data

__all__ = [
    "Data",
    "DataCorruptError",
    "DataError",
    "DataMissingError",
    "cli_fetch",
    "cli_status",
    "data_directory",
    "fingerprint",
    "load",
    "names",
    "resize",
]
