"""Claims judged by numbers that no runs are behind, for tests of verdicts and of what shows them."""

from deepmech_book.claims.functions import Entry, Measurement, judged


def entry_of(claim: str, measured=None, seeds: int | None = None, **found) -> Entry:
    """A claim of which this was found; arguments are those of :class:`Measurement`."""
    return judged(claim, Measurement(measured, **found), seeds)
