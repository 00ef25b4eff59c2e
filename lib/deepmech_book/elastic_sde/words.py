"""What stands at the axes of this chapter's pictures."""

from functools import partial

from deepmech_book import words

WORDS = {
    "time": ("time $t$", "1"),
    "step": ("step $h$", "1"),
    "intra": (r"effect within classes $\alpha$", "1"),
    "inter": (r"effect between classes $\beta$", "1"),
    "gap": (r"$\alpha - \beta$", "1"),
    "n": ("samples per class $n$", "1"),
    "r": ("exponent $r$", "1"),
    "sample": ("sample", "1"),
    "iteration": ("iteration", "1"),
    "factor": ("strength $a$ over $K/2$", "1"),
}
"""Name and unit of what results of this chapter are over."""
said = partial(words.said, WORDS)
IN_TRAINING = {
    "time": ("iteration", "1"),
    "at_iteration": ("iteration", "1"),
    "label_error": (r"share of wrong labels $p_\mathrm{err}$", "1"),
}
in_training = partial(words.said, IN_TRAINING)
"""Of networks, whose time is iterations."""
in_shares = partial(words.said, {"time": ("share of training", "1")})
"""Of training of different length, side by side."""
ITERATION = {"long_name": "iteration", "units": "1"}
"""What the time of networks is called."""
