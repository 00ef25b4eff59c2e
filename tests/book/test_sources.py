"""What is written must be consistent before anything runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from miniature import notebook_text, write_notebooks

from deepmech_book.press.sources import BookError, Checkout, with_values


def test_order_of_the_contents(checkout):
    assert checkout.names == ("springs/one", "springs/two")
    assert checkout.select(["springs/two"]) == ("springs/two",)
    assert checkout.select(["springs"]) == checkout.select(None) == checkout.names


@pytest.mark.parametrize(
    "raw", [b"---\njupytext:\n  langua\n", "é: ü".encode("latin-1"), b"---\n- 1\n---\n", b"\0" * 9, b""]
)
def test_a_notebook_that_cannot_be_read_is_named(checkout, raw):
    (checkout.root / "notebooks" / "springs" / "two.md").write_bytes(raw)
    with pytest.raises(BookError, match="notebook springs/two: "):
        checkout.source("springs/two")


def test_find_looks_upwards_and_says_what_it_misses(checkout, tmp_path, monkeypatch):
    monkeypatch.chdir(checkout.root / "notebooks" / "springs")
    assert Checkout.find().root == checkout.root
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BookError, match=r"_toc\.yml"):
        Checkout.find()


def test_unknown_chapter(checkout):
    with pytest.raises(BookError, match=r"'springz' is unknown; chapters are springs"):
        checkout.select(["springz"])


def test_notebook_without_place_in_the_contents(checkout):
    (checkout.root / "notebooks" / "springs" / "three.md").write_text(notebook_text())
    with pytest.raises(BookError, match=r"generated/springs/three"):
        _ = checkout.names


def test_contents_without_notebook(checkout):
    (checkout.root / "notebooks" / "springs" / "two.md").unlink()
    with pytest.raises(BookError, match=r"springs/two.*no such file"):
        _ = checkout.names


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("root: intro", "root:\n\t- intro", "cannot be read"),
        ("root: intro", "root: 3", "docname"),
        ("file: generated/springs/one", "file:", "docname"),
        ("- file: generated/springs/one", "- [file]", "entry not a mapping"),
        ("springs/two", "springs/one", "springs/one"),
        ("numbered: true", "caption: Blocks", "'caption' is set twice"),
        ("format: jb-book", "- a list", "cannot be read"),
        ("format: jb-book", f"format: {'[' * 5000}", "cannot be read"),
    ],
)
def test_faulty_contents(checkout, old, new, complaint):
    text = (checkout.root / "_toc.yml").read_text()
    assert old in text
    (checkout.root / "_toc.yml").write_bytes(text.replace(old, new).encode("latin-1"))
    with pytest.raises(BookError, match=rf"(?s)_toc\.yml.*{complaint}"):
        _ = Checkout(checkout.root).names


@pytest.mark.parametrize(
    ("profile", "complaint"),
    [
        ("springs/one: {points: 3, points: 4}", "laptop.yml: .*'points' is set twice"),
        ("springs/one: 3", "laptop.yml: springs/one: must set parameters to values"),
        ("3: {points: 3}\nspringz: {}", "laptop.yml sets parameters of 3, springz: no such notebook"),
        ("springs/two: {stiffness: [2020-01-01]}", "laptop.yml: springs/two: stiffness = .*numbers and words"),
        ("extends: paper", "extends: 'laptop': must be one of quick"),
        ("springs/one: {pionts: 41}", r"no parameter 'pionts'; its parameters are stiffness, points"),
        ("springs/noe: {points: 41}", r"springs/noe: no such notebook"),
        ("springs/one: {points: many}", r"points = 'many': must be a number like its default 21"),
        ("springs/one: {profile: paper}", r"no parameter 'profile'"),
    ],
)
def test_faulty_profile(checkout, profile, complaint):
    (checkout.root / "notebooks" / "profiles" / "paper.yml").write_text("extends: laptop")
    (checkout.root / "notebooks" / "profiles" / "laptop.yml").write_text(profile)
    with pytest.raises(BookError, match=complaint):
        checkout.profile("laptop")


def test_unknown_profile(checkout):
    with pytest.raises(BookError, match=r"'quik': must be one of quick, laptop, paper"):
        checkout.profile("quik")


def test_profile_values(checkout):
    assert checkout.profile("laptop")["springs/one"] == {"profile": "laptop", "points": 41}
    assert checkout.profile("laptop")["springs/two"] == {"profile": "laptop"}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (notebook_text(parameters="n = 3"), "must begin with profile"),
        (notebook_text(parameters='profile = "quick"\nn = 3\nm = 2 * n'), "line 3 .* not of the form name = plain"),
        (notebook_text(parameters='profile = "quick"\nimport os'), "line 2 .* not of the form"),
        (notebook_text(':tags: [parameters]\n\nprofile = "quick"'), "2 cells are tagged"),
        (notebook_text().replace(":tags: [parameters]", ""), "0 cells are tagged"),
        (notebook_text().replace("name: python3", "name: julia"), "kernelspec python3"),
        (notebook_text(title="").replace("# \n", ""), "no '# Title'"),
    ],
)
def test_faulty_notebook(checkout, text, complaint):
    with pytest.raises(BookError, match=complaint):
        write_notebooks(checkout, a=text).profile("quick")


names = st.sampled_from(["n", "alpha", "size", "label"])
values = st.one_of(
    st.integers(-9, 9), st.floats(-1, 1), st.text("aé#'\" ", max_size=5), st.lists(st.integers(0, 3), max_size=3)
)


@given(st.dictionaries(names, values), st.dictionaries(names, values))
def test_the_parameters_cell_shows_what_is_in_force(defaults, profile):
    code = '# first words\nprofile = "quick"\n' + "".join(f"{k} = {v!r}  # é of {k}\n" for k, v in defaults.items())
    chosen = {k: v for k, v in profile.items() if k in defaults}
    shown = with_values("a/b", code, {"profile": "paper", **chosen})
    force: dict = {}
    exec(shown, force)
    assert {k: force[k] for k in defaults} == {**defaults, **chosen} and force["profile"] == "paper"
    assert all(f"# é of {k}" in shown for k in defaults) and "# first words" in shown
