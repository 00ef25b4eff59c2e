"""As :mod:`deepmech_book.build.kernels`, but the process that kernels are forked from imports little."""

from deepmech_book.build import kernels

kernels.SHARED = ("ipykernel.ipkernel", "ipykernel.kernelapp")
serve = kernels.serve
