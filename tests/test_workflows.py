"""What a public host runs: it cannot run here, so each command must at least be one that this repository has."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from deepmech import cli
from test_house import PROJECT, ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()


def steps(path: Path) -> list[dict[str, object]]:
    jobs = yaml.safe_load(path.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def check(command: str) -> None:
    """Fails unless the Makefile or the command line knows the command."""
    program, *words = shlex.split(command)
    if program == "make":
        targets = [word for word in words if "=" not in word]
        assert targets and all(re.search(rf"^{t}:", MAKEFILE, re.M) for t in targets), command
        for name in (word.partition("=")[0] for word in words if "=" in word):
            assert re.search(rf"^{name} *\?=", MAKEFILE, re.M), f"{command}: the Makefile has no variable {name}"
    elif program == "deepmech":
        try:
            cli.parser().parse_args(words)
        except SystemExit as done:
            assert done.code == 0, command
    elif words[:2] == ["-m", "pytest"]:
        assert all((ROOT / word).is_dir() for word in words[2:] if word.startswith("tests")), command
    else:
        assert command.startswith(("pip install .", "command -v chromium")), f"{command}: whose is it?"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_command_of_a_workflow_is_there(path):
    loaded = yaml.safe_load(path.read_text())
    assert {"name", "permissions", "jobs"} <= set(
        loaded
    ) and True in loaded  # YAML reads the word "on" as a truth value
    commands = [step["run"] for step in steps(path) if "run" in step]
    for command in commands:
        check(command)
    for step in steps(path):
        assert ("run" in step) != ("uses" in step), step
        assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "actions/none@v0")), step


@pytest.mark.parametrize(
    "command",
    ["make boock", "make book CHAPTER=x", "deepmech verfy", "python -m pytest tests/cores", "curl somewhere"],
)
def test_a_wrong_command_would_be_noticed(command, capsys):
    with pytest.raises(AssertionError):
        check(command)


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
