"""Ten repositories as their people wrote them: from a clone to a true verdict, no code edited."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from examples.demo import gate
from gateval.candidates.environment import HARMLESS
from tests.frameworks.samples import ALWAYS, SAMPLES, Sample
from tests.helpers.command import environment
from tests.helpers.forked import run_forked
from tests.helpers.frameworks import PROGRAMS, ROOT, need_frameworks
from tests.helpers.repo import Repo
from tests.servers.google_models import google_reply
from tests.servers.model_server import Answer, Call, ModelServer, reply

QUESTION = "Where is my order 7?"
CANARY = "sk-canary-0123456789abcdef"
MOST_COMMANDS = 4


def serve(call: Call) -> Answer:
    """A model that does what it is told, and tells what the tool found."""
    found = re.search(rb"in transit|lost", call.raw)
    if found:
        said = f"Order 7 is {found[0].decode()}."
        if b"final_answer" in call.raw:  # smolagents has a tool for that
            return reply(call, tools=[("c2", "final_answer", {"answer": said})])
        return google_reply(call, said) if "/models/" in call.path else reply(call, said)
    if b"Look the order up" not in call.raw:
        said = "I cannot see orders."
        return google_reply(call, said) if "/models/" in call.path else reply(call, said)
    if "/models/" in call.path:
        return google_reply(call, tools=[("order_status", {"order": 7})])
    return reply(call, tools=[("c1", "order_status", {"order": 7})])


class Desk:
    """Somebody at a terminal in a sample's repository, who counts the commands of the gate."""

    def __init__(self, repo: Repo, provider: ModelServer) -> None:
        self.repo = repo
        self.provider = provider
        self.commands = 0

    async def type(self, *words: str) -> CompletedProcess[str]:
        self.commands += 1
        self.provider.calls.clear()
        places = (ROOT / ".venv" / "bin", PROGRAMS, os.environ["PATH"])
        environ = {
            "PATH": os.pathsep.join(map(str, places)),
            "GATEVAL_LAYERS": str(self.repo.path.parent / "layers"),
            "OPENAI_BASE_URL": self.provider.openai_url,
            "OPENAI_API_KEY": CANARY,
            "ANTHROPIC_BASE_URL": self.provider.url,
            "ANTHROPIC_API_KEY": CANARY,
            "GEMINI_BASE_URL": f"{self.provider.url}/v1beta/openai",
            "GEMINI_API_KEY": CANARY,
            **{name: os.environ[name] for name in HARMLESS - {"PATH"} if name in os.environ},
        }
        env = environment(self.repo, **environ)
        rights = gate()[0] == sys.executable
        return await asyncio.to_thread(
            run_forked, words, self.repo.path, env, seconds=900, rights=rights
        )

    def trials(self) -> list[dict[str, Any]]:
        """The trials of the newest results."""
        files = sorted(
            (self.repo.path / ".gateval/results").glob("*/results.v1.json"),
            key=lambda one: one.stat().st_mtime,
        )
        found: list[dict[str, Any]] = json.loads(files[-1].read_text())["trials"]
        return found


def say_what_must_hold(repo: Repo, agent: str) -> None:
    """Do what the first of the next steps says: a question that matters, and what must hold."""
    path = repo.path / f"agents/{agent}/evals.yaml"
    asked = path.read_text().replace("What can you help me with?", QUESTION)
    held = "- {type: contains, value: in transit}\n    - {type: toolCalled, tool: order_status}"
    path.write_text(re.sub(r"- \{type: latency.*", held, asked))


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    need_frameworks()


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(one, id=one.name, marks=() if number < ALWAYS else (pytest.mark.frameworks,))
        for number, one in enumerate(SAMPLES)
    ],
)
def test_from_a_clone_to_a_true_verdict(tmp_path: Path, sample: Sample) -> None:
    asyncio.run(_story(sample, sample.make(tmp_path / "repo", tmp_path / "uv")))


async def _story(sample: Sample, repo: Repo) -> None:
    listed = repo.git("ls-files", "-z").decode().split("\0")[:-1]
    before = {path: (repo.path / path).read_bytes() for path in listed}
    async with ModelServer(serve) as provider:
        desk = Desk(repo, provider)
        begun = await desk.type("init", "--yes")
        assert begun.returncode == 0, begun.stderr
        found = "is an agent of" if ":" in sample.program else "uses"
        first = f"{sample.program} {found} {sample.framework}, so it is the first Agent."
        assert first in begun.stdout
        say_what_must_hold(repo, sample.agent)

        advice = re.search(r"Try it:  (.*)", begun.stdout)
        assert advice
        for line in advice[1].split(" && "):
            done = await desk.type(*shlex.split(line)[1:])
            assert done.returncode == 0, done.stdout + done.stderr
        assert desk.commands <= MOST_COMMANDS
        assert {path: (repo.path / path).read_bytes() for path in listed} == before
        saw_everything(sample, desk)

        repo.commit("The gate")
        repo.branch("change")
        broken = repo.path / sample.broken.path
        broken.write_text(broken.read_text().replace(sample.broken.old, sample.broken.new, 1))
        repo.commit("Worse")
        checked = await desk.type("check")
        assert checked.returncode == 1, checked.stdout + checked.stderr
        assert verdicts(desk) == {("base", True), ("head", False)}


def saw_everything(sample: Sample, desk: Desk) -> None:
    """See that the program ran, and that all it did was read off the wire."""
    assert len(desk.provider.calls) >= len(desk.trials())
    for trial in desk.trials():
        trace = trial["trace"]
        assert trace["source"] == "gateway"
        steps = trace["steps"]
        assert tuple(step["kind"] for step in steps) == sample.kinds
        called = [step["tool"] for step in steps if step["kind"] == "tool_call"]
        assert called[0] == "order_status"
        assert QUESTION in steps[0]["text"]
        assert "Order 7 is in transit." in trial["output"]
        assert CANARY not in json.dumps(trial)


def verdicts(desk: Desk) -> set[tuple[str, bool]]:
    return {(trial["key"]["side"], trial["outcome"] == "pass") for trial in desk.trials()}
