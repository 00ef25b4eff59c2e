"""Datasets by name: ``load("digits")`` needs no download; ``deepmech data fetch mnist`` brings the others."""

from deepmech.data.datasets import Data, fingerprint, load, names, resize
from deepmech.data.files import DataCorrupt, DataError, DataMissing, cli_fetch, cli_status, data_directory

__all__ = [
    "Data",
    "DataCorrupt",
    "DataError",
    "DataMissing",
    "cli_fetch",
    "cli_status",
    "data_directory",
    "fingerprint",
    "load",
    "names",
    "resize",
]
