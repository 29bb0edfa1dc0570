"""Repositories as their people wrote them: from a clone to true verdicts, by two commands.

No code is edited. Each commit runs a few of them, drawn by its name; each night all.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from examples.demo import gate
from gateval.candidates.environment import HARMLESS
from tests.frameworks.samples import RENAMED, SAMPLES, TOOL, Change, Sample
from tests.helpers.command import environment
from tests.helpers.forked import run_forked
from tests.helpers.frameworks import PROGRAMS, ROOT, need_frameworks
from tests.helpers.repo import Repo
from tests.helpers.tiers import commit
from tests.servers.google_models import google_reply
from tests.servers.model_server import Answer, Call, ModelServer, reply

QUESTION = "Where is my order 7?"
CANARY = "sk-canary-0123456789abcdef"
FEW = 2
"""So many of them run in each CI run."""


def _drawn() -> list[str]:
    """Return the names of those that this commit runs."""
    quick = [one.name for one in SAMPLES if not one.slow]
    return random.Random(commit()).sample(quick, FEW)


def serve(call: Call) -> Answer:
    """A model that does what it is told, and tells what the tool found."""
    google = "/models/" in call.path
    found = re.search(rb"in transit|lost(?=[\\\"'])", call.raw)
    said = f"Order 7 is {found[0].decode()}." if found else "I cannot see orders."
    handed = re.search(rb"\btransfer_to_order_agent\b", call.raw)
    if b"final_answer" in call.raw and found:  # smolagents has a tool for that
        return reply(call, tools=[("c2", "final_answer", {"answer": said})])
    if handed and b"call_output" not in call.raw:
        return reply(call, tools=[("c0", handed[0].decode(), {})])
    if found or b"Look the order up" not in call.raw:
        return google_reply(call, said) if google else reply(call, said)
    offered = TOOL if TOOL.encode() in call.raw else RENAMED
    if google:
        return google_reply(call, tools=[(offered, {"order": 7})])
    return reply(call, tools=[("c1", offered, {"order": 7})])


class Desk:
    """Somebody at a terminal in a sample's repository, who types the commands of the gate."""

    def __init__(self, repo: Repo, provider: ModelServer) -> None:
        self.repo = repo
        self.provider = provider

    async def type(self, *words: str) -> CompletedProcess[str]:
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
    """Fill in the first fixture as its lines say: a question that matters, and what must hold."""
    path = repo.path / f"agents/{agent}/evals.yaml"
    written = path.read_text().replace("What can you help me with?", QUESTION)
    value = written.replace("what a right answer has to say", "in transit")
    filled = value.replace("a tool that it has to call", TOOL)
    assert filled.count("# - {type: ") == 2
    path.write_text(filled.replace("# - {type: ", "- {type: "))


@pytest.fixture(scope="module", autouse=True)
def tools() -> None:
    need_frameworks()


_DRAWN = _drawn()


@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(one, id=one.name, marks=() if one.name in _DRAWN else pytest.mark.frameworks)
        for one in SAMPLES
    ],
)
def test_from_a_clone_to_true_verdicts(tmp_path: Path, sample: Sample) -> None:
    asyncio.run(_story(sample, sample.make(tmp_path / "repo", tmp_path / "uv")))


async def _story(sample: Sample, repo: Repo) -> None:
    listed = repo.git("ls-files", "-z").decode().split("\0")[:-1]
    before = {path: (repo.path / path).read_bytes() for path in listed}
    async with ModelServer(serve) as provider:
        desk = Desk(repo, provider)
        begun = await desk.type("init", "--yes", "--run")
        assert begun.returncode == 0, begun.stdout + begun.stderr
        assert re.search(rf"(?m)^{re.escape(sample.program)} answers: ", begun.stdout)
        assert not provider.calls
        found = "is an agent of" if ":" in sample.program or _is_declared(sample) else "uses"
        first = f"{sample.program} {found} {sample.framework}, so it is the first Agent."
        assert first in begun.stdout
        assert {path: (repo.path / path).read_bytes() for path in listed} == before
        say_what_must_hold(repo, sample.agent)
        repo.commit("The gate")
        for change in sample.changes:
            await _judged(sample, change, desk)


def _is_declared(sample: Sample) -> bool:
    return sample.program.endswith((".json", "route.ts"))


async def _judged(sample: Sample, change: Change, desk: Desk) -> None:
    """Make a change on a branch of its own, and see what the gate says of it."""
    desk.repo.checkout("main")
    desk.repo.branch(change.name.replace(" ", "-"))
    change.make(desk.repo, sample.agent)
    desk.repo.commit(change.name)
    checked = await desk.type("check")
    said = f"{change.name}:\n{checked.stdout}{checked.stderr}"
    assert checked.returncode == (0 if change.passes else 1), said
    assert verdicts(desk) == {("base", True), ("head", change.passes)}, said
    if change.passes:
        saw_everything(sample, desk)


def saw_everything(sample: Sample, desk: Desk) -> None:
    """See that the program ran, and that all it did was read off the wire."""
    assert len(desk.provider.calls) >= len(desk.trials())
    for trial in desk.trials():
        trace = trial["trace"]
        assert trace["source"] == "gateway"
        steps = trace["steps"]
        assert tuple(step["kind"] for step in steps) == sample.kinds
        called = [step["tool"] for step in steps if step["kind"] == "tool_call"]
        assert TOOL in called
        assert QUESTION in steps[0]["text"]
        assert "Order 7 is in transit." in trial["output"]
        assert CANARY not in json.dumps(trial)


def verdicts(desk: Desk) -> set[tuple[str, bool]]:
    return {(trial["key"]["side"], trial["outcome"] == "pass") for trial in desk.trials()}
