"""What measures a claim has a digest that tells another formula, number or callee, and no comment or docstring."""

import sys
from types import SimpleNamespace

from deepmech_book import claims
from deepmech_book.claims import digests

CHANGED = [("np.mean", "np.median"), ("0.5", "0.6"), ("width = 3", "width = 4"), ("less(x, x)", "less(x, -x)")]
CHANGED += [("nulls.less", "nulls.beside"), ("beside as", "made_beside as"), (" + ", " - ")]
CODE = '''import numpy as np
from deepmech_book.claims import nulls
from deepmech_book.claims.nulls import beside as near
BAR: dict = {"first": (0.5, 1)}
class Row:
    width = 3
def inner(x):
    return np.mean(near(x, x, "seed")) + BAR["first"][0]
def measure(x):
    """Words."""
    return inner(x) * nulls.less(x, x) * Row.width
'''


def test_a_digest_is_of_what_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("deepmech_book.__path__", [*sys.modules["deepmech_book"].__path__, str(tmp_path)])

    def of(code, number):
        (tmp_path / f"made_up_{number}.py").write_text(code)
        function = SimpleNamespace(__module__=f"deepmech_book.made_up_{number}", __name__="measure")
        return digests.of_measure(claims.claim("A.3.eq8"), SimpleNamespace(function=function))

    assert of(CODE, "a") == of(CODE.replace("Words.", "Others.").replace("\nBAR", "  # a remark\n\nBAR"), "b")
    found = [of(CODE.replace(*pair), number) for number, pair in enumerate(CHANGED)]
    assert len({of(CODE, "a"), *found}) == len(CHANGED) + 1, "each change gives another one"


def test_a_digest_follows_the_rule_and_its_null():
    """Of a claim of one number, as its page's file has it."""
    one = claims.claim("A.3.eq8")
    assert digests.of_rule(one) == digests.of_rule(one.__class__(**{**vars(one), "answer": "so what", "where": "p. 3"}))
    for changed in ({"rule": {"within": 0.03}}, {"against": None}, {"expected": 0.1}):
        assert digests.of_rule(one) != digests.of_rule(one.__class__(**{**vars(one), **changed})), changed
