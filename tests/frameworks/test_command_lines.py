"""Coding agents as their own programs, started from the files that people keep for them.

The gate starts each on both sides of a change that spoils what it is told, and a scripted model
answers worse where the prompt on the wire has those words: red only if the program was led through
the gateway, with the files of its side.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.frameworks.test_bridges import made
from tests.helpers.command import gateval
from tests.helpers.definitions import sample

LOCK = Path(__file__).parent / "command-lines" / "package-lock.json"
CONFIG = "agents: [{match: '**', models: [scripted/desk]}]\n"
SCRIPT = """\
rules:
  - {when: {system: SPOILED}, reply: goodbye}
  - {when: {user: SPOILED}, reply: goodbye}
  - {reply: well hello there}
"""


class Started(NamedTuple):
    """What is started: the sample, its Agent, and the file and words that a change spoils."""

    sample: str
    agent: str
    path: str
    words: str


STARTED = (
    Started("claude", "test-runner", ".claude/agents/test-runner.md", "Run the tests."),
    Started("claude", "changelog", ".claude/skills/changelog/SKILL.md", "Follow [the form]"),
    Started("copilot", "reviewer", ".github/agents/reviewer.agent.md", "Say what is unclear."),
    Started("copilot", "reviewer", ".github/copilot-instructions.md", "This is a Flask"),
    Started("gemini", "gemini", "docs/rules.md", "Be short."),
)


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder of the programs, as the lock file has them."""
    files = [str(LOCK.parent / name) for name in ("package.json", "package-lock.json")]
    npm = ["npm", "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
    folder = made("command-lines", LOCK, ["cp", *files, "."], npm) / "node_modules"
    own = folder.parent / "bin"
    own.mkdir(exist_ok=True)
    native = next((folder / "@anthropic-ai").glob("claude-code-linux-*/claude"))
    for name in ("codex", "copilot", "gemini"):
        _link(own / name, folder / ".bin" / name)
    _link(own / "claude", native)  # the package's own script is one of its installation
    return own


def _link(link: Path, target: Path) -> None:
    if not link.exists():
        link.symlink_to(target)


def _environment(programs: Path) -> dict[str, str]:
    return {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.frameworks
@pytest.mark.parametrize("one", STARTED, ids=lambda one: f"{one.agent} {one.path}")
def test_what_a_coding_agent_is_told_decides(tmp_path: Path, programs: Path, one: Started) -> None:
    repo = sample(tmp_path / "repo", one.sample, one.agent, config=CONFIG)
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    repo.commit()
    repo.branch("change")
    repo.checkout("change")
    text = (repo.path / one.path).read_text()
    assert one.words in text
    repo.write(one.path, text.replace(one.words, f"SPOILED. {one.words}"))
    repo.commit()
    ran = gateval(repo, "check", "--base", "main", **_environment(programs))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert f"{one.agent}.one passed before and fails now" in ran.stdout


@pytest.mark.frameworks
def test_codex_answers_with_the_trace_of_the_wire(tmp_path: Path, programs: Path) -> None:
    """It tells its instructions in a message of their own, which rules of a script do not see."""
    repo = sample(tmp_path / "repo", "codex", "codex", config=CONFIG)
    repo.write(".gateval/scripted/desk.yaml", SCRIPT)
    repo.commit()
    ran = gateval(repo, "run", "codex.eval", **_environment(programs))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (results,) = repo.path.glob(".gateval/results/*/results.v1.json")
    told = json.dumps(json.loads(results.read_text()))
    assert '"source": "gateway"' in told


@pytest.mark.frameworks
def test_claude_code_works_in_a_playground(tmp_path: Path, programs: Path) -> None:
    """Its own files stay where it finds them; what it may change is handed over by the mapping."""
    line = (
        "[claude, -p, --model, scripted/desk, --agent, '{{ agent.name }}', --allowedTools, Bash, "
        "--add-dir, '{playground}']"
    )
    config = (
        "agents: [{match: .claude/agents/*, models: [scripted/desk], runtime: "
        f"{{command: {line}, stdin: '{{{{ prompt }}}}'}}}}]\n"
    )
    repo = sample(tmp_path / "repo", "claude", "test-runner", config=config)
    made_by_tool = "echo x > $GATEVAL_PLAYGROUND/new.txt && echo made"
    repo.write(
        ".gateval/scripted/desk.yaml",
        "rules:\n  - {when: {tool: made}, reply: hello}\n"
        f'  - {{toolCalls: [{{name: Bash, arguments: {{command: "{made_by_tool}"}}}}]}}\n',
    )
    path = "evals/test-runner.yaml"
    text = (repo.path / path).read_text().replace("  input:", "  playground: {}\n  input:")
    exists = "assertions: [{type: fileExists, path: new.txt}, "
    repo.write(path, text.replace("assertions: [", exists))
    repo.commit()
    ran = gateval(repo, "run", "test-runner.eval", **_environment(programs))
    assert ran.returncode == 0, ran.stdout + ran.stderr
