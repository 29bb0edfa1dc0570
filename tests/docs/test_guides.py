"""The guides' commands run, and their configurations are what the systems accept."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from gateval.cli.main import gateval
from tests.helpers.command import ROOT, environment
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop
from tools.workflow_lint import PROGRAMS, lint_all, linters

GUIDES = ROOT / "docs/guides"
FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
SCHEMAS = {".gitlab-ci.yml": "vendor.gitlab-ci", ".buildkite/pipeline.yml": "vendor.buildkite"}


def blocks(page: Path) -> list[tuple[str, str]]:
    """Each fenced block: the words after the backticks, and what is in it."""
    return [(one["info"], one["body"]) for one in FENCE.finditer(page.read_text("utf-8"))]


def block(page: Path, info: str) -> str:
    """The one block with these words."""
    (found,) = [body for words, body in blocks(page) if words == info]
    return found


def test_the_command_for_other_systems_runs(tmp_path: Path) -> None:
    build_shop(tmp_path / "shop")
    clone = Repo.clone(tmp_path / "shop", tmp_path / "clone")
    clone.write("README.md", "Better.\n")
    clone.commit()
    env = environment(clone)
    env["PATH"] = f"{PROGRAMS}:{env['PATH']}"
    script = block(GUIDES / "other-ci.md", "sh run")
    done = subprocess.run(
        ["sh", "-euc", script], cwd=clone.path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = {path.name for path in (clone.path / "gateval-results").iterdir()}
    assert written >= {
        "comment.md",
        "junit.xml",
        "gateval.sarif",
        "summary.txt",
        "decision.v1.json",
    }


@pytest.mark.parametrize("name", SCHEMAS)
def test_pipelines_are_what_their_systems_accept(tmp_path: Path, name: str) -> None:
    path = tmp_path / Path(name).name
    path.write_text(block(GUIDES / "other-ci.md", f"yaml file={name}"))
    schema = SCHEMAS[name]
    command = [str(PROGRAMS / "check-jsonschema"), "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_ruleset_requires_the_check_run() -> None:
    rules = json.loads(block(GUIDES / "branch-protection.md", "json file=ruleset.json"))["rules"]
    (rule,) = rules
    checks = rule["parameters"]["required_status_checks"]
    assert [check["context"] for check in checks] == ["gateval"]


def test_the_readmes_workflow_passes_all_linters(tmp_path: Path) -> None:
    path = tmp_path / "gateval.yml"
    path.write_text(block(ROOT / "README.md", "yaml file=.github/workflows/gateval.yml"))
    for verdict in lint_all([one._replace(files=(path,)) for one in linters([path], [], [])]):
        if verdict.missing:
            pytest.skip(f"{verdict.program} is not installed: no wheel for this machine")
        assert verdict.complaint is None, verdict.complaint


COMMAND = re.compile(r"(?:^|[`;&]|- |'|  )\s*(gateval [a-z][^`'\n|#&]*)", re.MULTILINE)
PAGES = [ROOT / "README.md", *sorted(GUIDES.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_is_shown_exists_with_its_options(page: Path) -> None:
    for shown in COMMAND.findall(page.read_text("utf-8")):
        _, *rest = shlex.split(shown.rstrip(" ."))
        command: click.Command | None = gateval
        while isinstance(command, click.Group) and rest:
            command = command.get_command(click.Context(command), rest.pop(0))
        assert command is not None, shown
        known = {option for one in command.params for option in one.opts}
        assert {word.partition("=")[0] for word in rest if word.startswith("-")} <= known, shown
        assert isinstance(command, click.Command)
