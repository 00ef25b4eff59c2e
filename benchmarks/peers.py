"""Peers that may be missing: ``jax_peers`` is the module, or None; :data:`MISSING` says so above a table."""

from __future__ import annotations

try:
    import jax_peers
except ImportError:
    jax_peers = None

__all__ = ["MISSING", "jax_peers"]

MISSING = "" if jax_peers else " (JAX is missing: pip install -e .[peers])"
