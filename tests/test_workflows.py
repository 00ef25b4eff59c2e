"""What a public host runs: it cannot run here, so each command must at least be one that this repository has."""

import re
import shlex

import pytest
import yaml

from deepmech import cli
from test_house import PROJECT, ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_command_of_a_workflow_is_there(path):
    """The Makefile has each target and variable, and the command line each verb."""
    loaded = yaml.safe_load(path.read_text())
    assert {"name", "permissions", "jobs", True} <= set(loaded)  # YAML reads the word "on" as a truth value
    steps = [step for job in loaded["jobs"].values() for step in job["steps"]]
    for program, *words in (shlex.split(step["run"]) for step in steps if "run" in step):
        if program == "make":
            wanted = [rf"^{w.partition('=')[0]} *\?=" if "=" in w else rf"^{w}:" for w in words]
            assert all(re.search(one, MAKEFILE, re.M) for one in wanted), words
        if program == "deepmech" and words != ["--version"]:
            cli.parser().parse_args(words)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]) for step in steps if "uses" in step)


def test_the_tests_run_on_every_promised_python():
    matrix = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"]["test"]["strategy"]["matrix"]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    assert matrix["python"] == ["3.11", "3.12", "3.13"]


def test_hooks_before_a_commit_use_the_pinned_programs():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    locked = {line.split("==")[0] for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line}
    for hook in local["hooks"]:
        assert hook["language"] == "system" and hook["entry"].startswith(".venv/bin/")
        assert re.match(r"\.venv/bin/([\w-]+)", hook["entry"])[1] in locked, hook["entry"]
        where = re.compile(hook.get("files", ""))
        assert any(where.search(p.relative_to(ROOT).as_posix()) for p in ROOT.rglob("*.*") if ".venv" not in p.parts)


def test_forms_and_changelog_name_what_there_is():
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        loaded = yaml.safe_load(form.read_text())
        assert form.stem == "config" or {"name", "description", "body"} <= set(loaded)
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert first and first[1] in (PROJECT["version"], "Unreleased")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == PROJECT["version"]
