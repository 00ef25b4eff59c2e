"""Datasets by name: ``load("digits")`` needs no download; ``deepmech data fetch mnist`` brings the others."""

from deepmech.data.datasets import (
    Data,
    DataCorrupt,
    DataError,
    DataMissing,
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
