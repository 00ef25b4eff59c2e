"""Datasets by name: ``load("digits")`` needs no download; ``deepmech data fetch mnist`` brings the others."""

from deepmech.data.datasets import (
    Data,
    DataCorruptError,
    DataError,
    DataMissingError,
    cli_fetch,
    cli_status,
    data_directory,
    fingerprint,
    load,
    names,
    resize,
)

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
