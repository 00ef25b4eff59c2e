"""What stands at the axes of this chapter's pictures."""

from functools import partial

from deepmech_book import words

WORDS = {
    "block": (r"block $\ell$", "1"),
    "layer": (r"layer $\ell$", "1"),
    "time": ("time $t$", "1"),
    "at_epoch": ("epoch", "1"),
    "damping": (r"damping $\gamma$", "1"),
    "dt": (r"time step $\eta$", "1"),
    "force": (r"spring force $z = k\,\Delta d$", "in units of $ky$"),
    "friction_right": (r"friction $\mu_\rightarrow$", "force"),
    "inverse_square": (r"$1/\bar\varepsilon^2$", "in units of $1/(ky)^2$"),
    "jerk_speed": ("jerk speed", "unit: 2√(τ/m)"),
    "noise": (r"noise $\varepsilon$", "force × √time"),
    "noise_bar": (r"step noise $\bar\varepsilon$", "force"),
    "shake_speed": ("shaking speed $c$", "unit: 2√(τ/m)"),
}
"""Name and unit of what results of this chapter are over."""
LOAD = r"load $D_\ell$ (in units of $y$)"
SEPARATION = r"data separation $D_\ell$"
said = partial(words.said, WORDS)
