"""What stands at the axes of this chapter's pictures."""

from functools import partial

from deepmech_book import words

WORDS = {
    "time": ("time $t$ since $t_w$", "steps"),
    "waiting": ("waiting time $t_w$", "steps"),
    "temperature": ("temperature $T$", "1"),
    "kick": ("length of the kick", r"$\sigma_{AA}$, or $\sigma$ of weights"),
    "probability": ("share of directions", "1"),
    "u": ("along the walk", "1"),
    "v": ("across it", "1"),
}
"""Name and unit of what results of this chapter are over."""
said = partial(words.said, WORDS)
