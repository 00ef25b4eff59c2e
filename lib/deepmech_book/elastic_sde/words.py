"""What stands at the axes of this chapter's pictures."""

from functools import partial

from deepmech_book import words

WORDS = {"time": ("time $t$", "1"), "step": ("step $h$", "1")}
"""Name and unit of what results of this chapter are over."""
said = partial(words.said, WORDS)
