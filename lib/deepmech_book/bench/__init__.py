"""The law bench: somebody's measure of a network judged on the zoo, beside all others (``deepmech bench FILE``)."""

from deepmech_book.bench.judge import Judgement, judged, leaderboard, pairs_of
from deepmech_book.bench.measures import MEASURES
from deepmech_book.bench.networks import own_measures, record

__all__ = ["MEASURES", "Judgement", "judged", "leaderboard", "own_measures", "pairs_of", "record"]
