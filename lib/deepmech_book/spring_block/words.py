"""What stands at the axes of this chapter's pictures."""

from functools import partial

from deepmech_book import words

WORDS = {
    "block": (r"block $\ell$", "1"),
    "layer": (r"layer $\ell$", "1"),
    "time": ("time $t$", "1"),
    "at_epoch": ("epoch", "1"),
    "jerk_speed": ("jerk speed", "unit: 2√(τ/m)"),
    "shake_speed": ("shaking speed $c$", "unit: 2√(τ/m)"),
}
"""Name and unit of what results of this chapter are over."""
LOAD = r"load $D_\ell$ (in units of $y$)"
SEPARATION = r"data separation $D_\ell$"
said = partial(words.said, WORDS)
