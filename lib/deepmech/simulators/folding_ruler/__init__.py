"""A folding ruler with dry joints on a table, pulled slowly, jerked or shaken: see :mod:`.ruler` for the mechanics."""

from deepmech.simulators.folding_ruler.ruler import Pull, Ruler, simulate, slow_profile

__all__ = ["Pull", "Ruler", "simulate", "slow_profile"]
