"""What measures a claim has a digest that tells another formula, number or callee, and no renaming, move or comment."""

from importlib.util import module_from_spec, spec_from_file_location

import pytest

from deepmech_book import claims
from deepmech_book.claims import digests

CODE = '''
import numpy as np

from deepmech_book.claims.nulls import less

BAR = {"first": (0.5, 1)}


def inner(x):
    return np.mean(x) + BAR["first"][0]


class Row:
    width = 3


def measure(runs, over="seed"):
    """Words."""
    total = inner(runs) - less(runs, runs, over)
    return sorted(total, key=lambda one: one * Row.width)
'''


def digest(tmp_path, code):
    (tmp_path / "made_up.py").write_text(code)
    spec = spec_from_file_location("deepmech_book.made_up", tmp_path / "made_up.py")
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, spec.name, module)
        spec.loader.exec_module(module)
        digests._nodes.cache_clear()
        return digests.of_measure(claims.claim("A.3.eq8"), module.measure)


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Words.", "Other words, of more lines.\n", True),
        ("inner", "within", True),
        ("total", "sum_of_all", True),
        ("one", "each", True),
        ("BAR", "LIMIT", True),
        ("import numpy as np", "import numpy as np  # a remark\n\nOTHER = 1", True),
        ("(runs, over=", "(runs: list, over: str =", True),
        ("0.5", "0.6", False),
        ("np.mean", "np.median", False),
        ("width = 3", "width = 4", False),
        ("inner(runs) -", "inner(runs) +", False),
        ("less(runs, runs", "less(runs, -runs", False),
        ("seed", "trial", False),
        ("inner(runs) - less(runs, runs, over)", "less(runs, runs, over) - inner(runs)", False),
    ],
)
def test_a_digest_is_of_what_is_computed(tmp_path, old, new, same):
    assert old in CODE
    assert (digest(tmp_path, CODE) == digest(tmp_path, CODE.replace(old, new))) == same


def test_a_digest_follows_the_rule_and_its_null():
    """Of a claim of one number, as its page's file has it."""
    one = claims.claim("A.3.eq8")
    assert digests.of_rule(one) == digests.of_rule(one.__class__(**{**vars(one), "answer": "so what", "where": "p. 3"}))
    for changed in ({"rule": {"within": 0.03}}, {"against": None}, {"expected": 0.1}):
        assert digests.of_rule(one) != digests.of_rule(one.__class__(**{**vars(one), **changed})), changed
