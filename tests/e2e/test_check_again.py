"""`check` again and again: what it found regressed stands on somebody's own machine, too."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, FIXTURES, PROMPT, build_shop
from tests.servers.model_server import Answer, Call, reply

WORSE = PROMPT.replace("ask for the reason", "be quick")
MODEL = AGENT.replace("scripted/support", "openai/gpt-5")
COMMAND = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  runtime: {type: command, command: [python3, agent.py]}
"""
PROGRAM = """\
import json, os, pathlib, sys, urllib.request
asked = json.load(sys.stdin)["prompt"]
system = pathlib.Path("prompts/support.md").read_text()
body = {"model": "gpt-5", "messages": [{"role": "system", "content": system},
                                       {"role": "user", "content": asked}]}
sent = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"})
print(json.load(urllib.request.urlopen(sent))["choices"][0]["message"]["content"])
"""


pytestmark = pytest.mark.drawn("moody")


class Moody:
    """A repository whose change is wrong as long as `wrong` is set; base never is."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.wrong = True
        self.environ: dict[str, str] = {}

    def answer(self, call: Call) -> Answer:
        """Say what a candidate is told."""
        worse = "be quick" in json.dumps(call.body)
        return reply(call, "No." if worse and self.wrong else "Hello! Why?")

    def check(self, *options: str, **extra: str) -> CompletedProcess[str]:
        """Run `check` with the provider at hand."""
        return gateval(self.repo, "check", *options, **{**self.environ, **extra})

    @property
    def memory(self) -> Path:
        return self.repo.path / ".git/gateval/findings.jsonl"

    def newest(self, name: str = "decision.v1.json") -> dict[str, Any]:
        """A file of the newest run."""
        runs = sorted(
            one for one in (self.repo.path / ".gateval/results").iterdir() if one.is_dir()
        )
        found: dict[str, Any] = json.loads((runs[-1] / name).read_text())
        return found


@pytest.fixture(params=["model", "command"])
def moody(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Moody]:
    repo = build_shop(tmp_path / "shop")
    repo.checkout("main")
    repo.write("agents/support.yaml", MODEL if request.param == "model" else COMMAND)
    repo.write("agents/agent.py", PROGRAM)
    repo.write(
        "evals/fixtures.yaml",
        FIXTURES.replace(
            "{type: toolCalled, tool: clarify_reason}", "{type: contains, value: Why}"
        ),
    )
    repo.commit()
    repo.git("branch", "--force", "change")
    repo.checkout("change")
    repo.write("agents/prompts/support.md", WORSE)
    repo.commit()
    found = Moody(repo)
    with provider(found.answer) as (_, environ):
        found.environ = environ
        yield found


def found_worse(moody: Moody) -> None:
    moody.wrong = True
    ended = moody.check()
    assert ended.returncode == 1, ended.stdout + ended.stderr
    moody.wrong = False


def test_a_regression_stands_however_often_it_is_checked(moody: Moody) -> None:
    found_worse(moody)
    for _ in range(2):
        again = moody.check()
        assert again.returncode == 1, again.stdout
        assert "a new run does not take it back" in json.dumps(moody.newest())
    assert "--fresh" in again.stderr
    assert moody.newest("results.v1.json")["trials"] == [], "what stands is not measured again"


def test_fresh_measures_anew_and_the_decision_says_so(moody: Moody) -> None:
    found_worse(moody)
    fresh = moody.check("--fresh")
    assert fresh.returncode == 0, fresh.stdout
    said = "measured anew (--fresh), though an earlier run found regressed: "
    assert said in " ".join(fresh.stdout.split())
    (reason,) = [one for one in moody.newest()["reasons"] if one["code"] == "fresh"]
    assert said in reason["text"]
    assert moody.check().returncode == 1, "it is not forgotten by that"


def test_fresh_is_shown_where_nothing_is_known(moody: Moody) -> None:
    moody.wrong = False
    ended = moody.check("--fresh")
    assert ended.returncode == 0
    assert "measured anew (--fresh)" in " ".join(ended.stdout.split())


def test_a_working_tree_stands_by_what_is_in_it(moody: Moody) -> None:
    moody.repo.write("agents/prompts/support.md", WORSE + "Never mind.\n")
    found_worse(moody)
    assert moody.check().returncode == 1
    moody.repo.commit()
    assert moody.check().returncode == 1, "as a commit it is the same Agent"
    moody.repo.write("agents/prompts/support.md", PROMPT + "Be kind.\n")
    assert moody.check().returncode == 0, "another Agent is measured"


def test_a_part_remembers_and_is_remembered(moody: Moody) -> None:
    moody.wrong = True
    assert moody.check("--fixture", "greets").returncode == 1
    moody.wrong = False
    assert moody.check("--failed").returncode == 1
    assert moody.check("--fixture", "refund-asks-why").returncode == 3
    whole = moody.check()
    assert whole.returncode == 1
    assert {one["key"]["fixture"] for one in moody.newest("results.v1.json")["trials"]} == {
        "refund-asks-why"
    }


def test_no_file_of_the_repository_is_that_memory(moody: Moody) -> None:
    """Neither by its default name, nor in a folder that the environment names."""
    found_worse(moody)
    told = moody.memory.read_bytes()
    moody.memory.unlink()
    for path in ("gateval/findings.jsonl", ".gateval/findings.jsonl", "memory/findings.jsonl"):
        moody.repo.write(path, told.decode())
    moody.repo.commit()
    assert moody.check().returncode == 0
    refused = moody.check(GATEVAL_FINDINGS="memory")
    assert refused.returncode == 2
    assert "git tracks" in refused.stderr


def test_it_is_kept_where_the_environment_says(moody: Moody, tmp_path: Path) -> None:
    moody.wrong = True
    kept = tmp_path / "kept"
    assert moody.check(GATEVAL_FINDINGS=str(kept)).returncode == 1
    moody.wrong = False
    assert moody.check().returncode == 0
    assert moody.check(GATEVAL_FINDINGS=str(kept)).returncode == 1
    assert moody.check(GATEVAL_FINDINGS=".cache/gateval").returncode == 0
    assert moody.repo.git("status", "--porcelain").decode() == ""


@pytest.mark.parametrize("content", [b"\xff\x00{", b"{}\n", b"[" * 100_000, b"x" * 3_000_000])
def test_a_broken_memory_is_told(moody: Moody, content: bytes) -> None:
    moody.wrong = False
    moody.memory.parent.mkdir()
    moody.memory.write_bytes(content)
    ended = moody.check()
    assert ended.returncode == 0, ended.stderr
    assert "Remove it" in ended.stderr
    assert str(Path(".git/gateval/findings.jsonl")) in ended.stderr


def test_a_memory_that_is_no_file_or_cannot_be_written_is_told(moody: Moody) -> None:
    moody.memory.mkdir(parents=True)
    moody.wrong = True
    ended = moody.check()
    assert ended.returncode == 1, ended.stderr
    assert "findings" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_runs_at_once_lose_nothing(moody: Moody) -> None:
    moody.wrong = True
    parts = [["--fixture", "greets"], ["--fixture", "refund-asks-why"], []] * 2
    running = [threading.Thread(target=moody.check, args=part) for part in parts]
    for one in running:
        one.start()
    for one in running:
        one.join()
    lines = [json.loads(line) for line in moody.memory.read_text().splitlines()]
    assert sorted(one["fixture"] for one in lines) == ["greets", "refund-asks-why"]


def test_the_action_does_not_look_there(moody: Moody) -> None:
    """It is nobody's but this clone's: a run of the action knows records and check runs alone."""
    found_worse(moody)
    source = Path(__file__).parents[2] / "src/gateval/app/action"
    assert not [one for one in source.rglob("*.py") if "local_findings" in one.read_text()]


GRADED = """\
apiVersion: gateval/v1
kind: Experiment
metadata: {name: golden}
spec:
  targetAgent: support
  data: [{input: one, expected: Why}, {input: two, expected: Why}, {input: three, expected: Why}]
  scorers: [contains]
"""


def test_what_stands_is_not_told_as_measured_now(moody: Moody) -> None:
    repo = moody.repo
    repo.checkout("main")
    repo.write("evals/golden.yaml", GRADED)
    repo.commit()
    repo.checkout("change")
    repo.git("rebase", "--quiet", "main")
    found_worse(moody)
    again = moody.check("--results", "again")
    assert again.returncode == 1
    for text in (
        " ".join(again.stdout.split()),
        (repo.path / "again/comment.md").read_text(),
        (repo.path / "again/junit.xml").read_text(),
    ):
        assert "a new run does not take it back" in text
        assert "before, 0 of 6 then" in text
        assert "6 of 6 now" not in text
        assert "0 of 6 now" not in text
