"""What shells and pre-commit make of the program, and what it says of a machine that lacks one."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.helpers.command import ROOT, gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, build_shop


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return build_shop(tmp_path / "shop")


def completed(shop: Repo, *words: str) -> set[str]:
    """What bash is offered for the last of these words."""
    done = gateval(
        shop,
        _GATEVAL_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(("gateval", *words)),
        COMP_CWORD=str(len(words)),
    )
    assert done.stderr == ""
    return {line.partition(",")[2] for line in done.stdout.splitlines() if line}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ch"], {"challenge", "check"}),
        (["check", "--fa"], {"--failed"}),
        (["check", "--fixture", "g"], {"greets"}),
        (["check", "--eval", "s"], {"support-eval"}),
        (["check", "--agent", "s"], {"support"}),
        (["run", "su"], {"support-eval"}),
        (["closure", "su"], {"support"}),
    ],
)
def test_bash_is_offered_names(shop: Repo, words: list[str], offered: set[str]) -> None:
    assert completed(shop, *words) == offered


def test_nothing_is_offered_or_said_where_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert completed(Repo(tmp_path / "empty"), "run", "su") == set()
    broken = build_shop(tmp_path / "broken")
    broken.write("evals/x.yaml", f"{EVAL}  nonsense: 1\n")
    assert completed(broken, "run", "no") == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_one(shop: Repo, shell: str) -> None:
    done = gateval(shop, _GATEVAL_COMPLETE=f"{shell}_source")
    assert done.returncode == 0, done.stderr
    assert f"_GATEVAL_COMPLETE={shell}_complete" in done.stdout
    guide = (ROOT / "docs/guides/daily-use.md").read_text("utf-8")
    assert f"_GATEVAL_COMPLETE={shell}_source gateval" in guide
    if found := shutil.which(shell):
        subprocess.run([found, "-n"], input=done.stdout, text=True, check=True)


def test_the_hook_is_what_pre_commit_takes_and_starts_a_command_of_ours(shop: Repo) -> None:
    """The keys are those of https://pre-commit.com/#creating-new-hooks."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert {"id", "name", "entry", "language"} <= hook.keys()
    assert hook["language"] == "python"
    guide = (ROOT / "docs/guides/daily-use.md").read_text("utf-8")
    assert hook["id"] in re.findall(r"- id: (\S+)", guide)
    words = hook["entry"].split()
    assert words[0] == "gateval"
    assert gateval(shop, *words[1:]).returncode == 0
    shop.write("evals/x.yaml", f"{EVAL}  nonsense: 1\n")
    assert gateval(shop, *words[1:]).returncode == 2


PROGRAM = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: bot}
spec: {runtime: {type: command, command: [COMMAND, agent.py]}}
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: asks, labels: {agent: bot}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: Hello}]
---
apiVersion: gateval/v1
kind: Eval
metadata: {name: bot-eval}
spec: {targetAgent: bot, fixtureSelector: {matchLabels: {agent: bot}}}
"""


def test_validate_says_what_the_machine_lacks(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("bot.yaml", PROGRAM.replace("COMMAND", "no-such-interpreter"))
    repo.write("agent.py", "")
    done = gateval(repo, "validate")
    assert done.returncode == 0
    assert 'this machine has no "no-such-interpreter"' in done.stdout
    assert "gateval/gateval/runner" in done.stdout
    repo.write("bot.yaml", PROGRAM.replace("COMMAND", "python3"))
    assert "this machine has no" not in gateval(repo, "validate").stdout


def test_a_missing_module_leads_to_a_set_up(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("bot.yaml", PROGRAM.replace("COMMAND", "python3"))
    repo.write("agent.py", "import no_such_module_of_anybody\n")
    repo.write("requirements.txt", "no-such-module-of-anybody\n")
    done = gateval(repo, "run", "bot-eval")
    said = " ".join(done.stdout.split())
    assert "The module no_such_module_of_anybody is not installed" in said
    assert "inputs: [requirements.txt], creates: [.venv]}` under spec.runtime." in said
