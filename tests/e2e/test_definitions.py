"""Agents in the files of other tools, from a change to a verdict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.definitions import CONFIG, sample
from tests.helpers.repo import Repo

REVIEWER = ".claude/agents/code-reviewer.md"
SCRIPT = """\
rules:
  - {when: {system: WORSE}, reply: goodbye}
  - {reply: well hello there}
"""
MAPPED = "agents: [{match: '**', models: [scripted/desk], runtime: {type: model}}]\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Claude Code's agents, of which one has an Eval; a scripted model with its prompt answers."""
    made = sample(tmp_path / "repo", "claude", "code-reviewer", config=MAPPED)
    made.write(".gateval/scripted/desk.yaml", SCRIPT)
    made.commit()
    made.branch("change")
    made.checkout("change")
    return made


def _edit(repo: Repo, path: str, old: str, new: str) -> None:
    text = (repo.path / path).read_text()
    assert old in text
    repo.write(path, text.replace(old, new))
    repo.commit()


def _plan(repo: Repo) -> dict[str, list[Any]]:
    ran = gateval(repo, "plan", "--base", "main", "--json")
    assert ran.returncode == 0, ran.stderr
    plan: dict[str, list[Any]] = json.loads(ran.stdout)
    return plan


def test_a_worse_prompt_is_red(repo: Repo) -> None:
    _edit(repo, REVIEWER, "You are a senior reviewer.", "You are WORSE.")
    ran = gateval(repo, "check", "--base", "main")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "code-reviewer.one passed before and fails now" in ran.stdout


@pytest.mark.parametrize("mapping", [MAPPED, ""], ids=["model", "command line"])
def test_the_order_of_its_keys_is_no_change(repo: Repo, mapping: str) -> None:
    """Run by a model, or by a program that reads the file itself."""
    repo.checkout("main")
    if mapping:
        repo.write(CONFIG, mapping)
    else:
        repo.delete(CONFIG)
    repo.write("README.md", "x")
    repo.commit()
    repo.checkout("change")
    repo.git("reset", "-q", "--hard", "main")
    moved = "color: blue\nmodel: sonnet\n"
    _edit(repo, REVIEWER, "model: sonnet\nskills:\n  - changelog\ncolor: blue\n",
          f"skills:\n  - changelog\n{moved}")  # fmt: skip
    assert _plan(repo)["changes"] == []
    _edit(repo, REVIEWER, "model: sonnet", "model: opus")
    assert [one["agent"] for one in _plan(repo)["changes"]] == ["code-reviewer"]


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("CLAUDE.md", True),
        ("docs/glossary.md", True),
        (".claude/skills/changelog/scripts/entries.py", True),
        (".claude/agents/test-runner.md", True),
        ("docs/not-imported.md", False),
        ("src/app.py", False),
    ],
)
def test_what_it_rests_on_is_a_change(repo: Repo, path: str, changed: bool) -> None:
    repo.write(path, (repo.path / path).read_text() + "\nMore.\n")
    repo.commit()
    assert bool(_plan(repo)["changes"]) is changed


def test_what_no_eval_targets_is_said_once(repo: Repo) -> None:
    _edit(repo, ".claude/agents/test-runner.md", "Say what failed.\n", "Say what broke.\n")
    repo.write(".claude/agents/new.md", "---\nname: new\n---\nHi.\n")
    repo.commit()
    told = [one for one in _plan(repo)["warnings"] if "files of other tools" in str(one)]
    assert told == [
        (
            "The agents new, test-runner (files of other tools) changed, and no Eval targets them: "
            "not measured."
        )
    ]


def test_a_mapping_of_the_change_counts_after_the_merge(repo: Repo) -> None:
    repo.write(CONFIG, MAPPED.replace("scripted/desk", "scripted/other"))
    _edit(repo, REVIEWER, "You are a senior reviewer.", "You are WORSE.")
    plan = _plan(repo)
    assert {str(one["models"]) for one in plan["agents"]} == {"['scripted/desk']"}
    assert plan["lost"]


def test_an_eval_that_the_change_adds_measures_both_sides(repo: Repo) -> None:
    """What base has as a definition is its side, though no Eval of base targets it."""
    text = (repo.path / "evals/code-reviewer.yaml").read_text()
    repo.write("evals/test-runner.yaml", text.replace("code-reviewer", "test-runner"))
    _edit(repo, ".claude/agents/test-runner.md", "Run the tests.", "WORSE.")
    ran = gateval(repo, "check", "--base", "main")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "passed 1 of 1 before, 0 of 3 now" in ran.stdout


def test_a_program_of_ones_own_is_told_the_file(repo: Repo) -> None:
    repo.checkout("main")
    repo.write("tools/run.py", "import sys\nprint(open(sys.argv[1]).read(), sys.argv[2:])\n")
    line = "[python3, tools/run.py, '{{ agent.file }}', '{{ agent.name }}', '{{ agent.system }}']"
    repo.write(CONFIG, f"agents: [{{match: .claude/agents/*, runtime: {{command: {line}}}}}]\n")
    repo.write("evals/code-reviewer.yaml", (
        (repo.path / "evals/code-reviewer.yaml").read_text()
        .replace("value: hello", "value: \"['code-reviewer', 'You are\"")))  # fmt: skip
    repo.commit()
    ran = gateval(repo, "run", "code-reviewer.eval")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_what_a_template_lacks_of_an_agent_is_told(repo: Repo) -> None:
    repo.checkout("main")
    line = "[echo, '{{ agent.model }}']"
    repo.write(CONFIG, f"agents: [{{match: .claude/agents/*, runtime: {{command: {line}}}}}]\n")
    repo.commit()
    ran = gateval(repo, "run", "code-reviewer.eval")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "the Agent has no `agent.model`" in " ".join(ran.stdout.split())


def test_what_an_eval_may_target_is_listed(repo: Repo) -> None:
    """With what starts it, or why nothing does; nobody has to guess a name."""
    repo.delete(CONFIG)
    for path, text in {
        ".cursor/agents/tester.md": "---\nname: tester\n---\nTest.\n",
        ".cursor/agents/writer.md": "---\nname: writer\n---\nWrite.\n",
        ".codex/config.toml": 'model = "gpt-5"\n',
    }.items():
        repo.write(path, text)
    repo.commit()
    listed = gateval(repo, "get", "agents").stdout
    own, _, others = listed.partition("In files of other tools; an Eval names one in `targetAgent`")
    assert "code-reviewer" in own
    assert "test-runner" not in own
    rows = [line.split() for line in others.splitlines()]
    assert ["codex", "codex", ".codex/config.toml"] in rows
    assert ["test-runner", "claude", ".claude/agents/test-runner.md"] in rows
    assert "tester (.cursor/agents/tester.md:1): " in others
    assert others.count("Say in .github/gateval.yml") == 1
    told = {
        one["name"]: one for one in json.loads(gateval(repo, "get", "agents", "-o", "json").stdout)
    }
    assert told["codex"]["startedBy"] == "codex"
    assert told["tester"]["phase"] == "Cannot Start"
    assert "Cursor's command line takes no address" in told["tester"]["why"]
    assert told["code-reviewer"]["phase"] == "Pending"
    assert "phase: Cannot Start" in gateval(repo, "get", "agent", "tester").stdout
    files = gateval(repo, "closure", "test-runner").stdout
    assert ".claude/agents/test-runner.md" in files


def test_a_mapping_that_fits_nothing_is_told_beside_what_cannot_start(repo: Repo) -> None:
    repo.write(".cursor/agents/code-reviewer.md", "---\nname: tester\n---\nTest.\n")
    repo.write("evals/tester.yaml", (repo.path / "evals/code-reviewer.yaml").read_text()
               .replace("code-reviewer", "tester"))  # fmt: skip
    repo.write(CONFIG, "agents: [{match: .cursor/agent/*.md, runtime: {type: model}}]\n")
    repo.commit()
    ran = gateval(repo, "validate")
    assert ran.returncode == 2
    assert 'The Agent "tester" cannot be started' in ran.stdout
    assert '".cursor/agent/*.md" fits no definition' in ran.stdout
