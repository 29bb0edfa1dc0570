"""Attacks on single sealed fixtures: what a candidate, or who reads the log, could tell of one."""

from __future__ import annotations

import json
import socketserver
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.sealed.test_sealed_outcomes import (
    AGENT,
    EVAL,
    FIXTURE,
    PROGRAM,
    on_branch,
    shop,
)
from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.sealed import CONFIG, KEY, KIND, VERDICT, seal
from tests.helpers.users import Who, who
from tests.servers.model_server import Answer, Call, Responder, reply

__all__ = ["who"]

Runs = Callable[..., "subprocess.CompletedProcess[str]"]

TELLS = """import socket
with socket.create_connection(("127.0.0.1", PORT)) as away: away.sendall(str(number).encode())
"""


class Heard(Counter[str]):
    """How often each fixture was asked, and when, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.moments: list[tuple[str, float]] = []


@contextmanager
def listener() -> Iterator[tuple[int, Heard]]:
    """Somebody outside, whom candidates tell what they were asked: the port, and what was heard."""
    heard = Heard()

    class Hears(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            name = self.request.recv(16).decode()
            heard[name] += 1
            heard.moments.append((name, time.monotonic()))

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Hears) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1], heard
        server.shutdown()


def asked(
    repo: Repo, out: Path, answers: str, heard: Heard, run: Runs = gateval, **environ: str
) -> dict[str, int]:
    """Check a change whose agent tells what it is asked; return how often each was."""
    heard.clear()
    name = f"next-{out.name}"
    on_branch(repo, name, answers)
    words = ("check", "--base", "main", "--head", name, "--results", str(out))
    done = run(repo, *words, **environ, **KEY)
    assert done.returncode in {0, 1, 3}, done.stderr
    return {one: heard[one] for one in sorted(heard, key=int)}


@pytest.mark.parametrize("model", ["", ", model: weighted"])
def test_a_candidate_counts_how_often_it_is_asked_and_learns_nothing_of_one_fixture(
    tmp_path: Path, model: str
) -> None:
    repo = shop(tmp_path / "shop", model=model)
    with listener() as (port, heard):
        tells = TELLS.replace("PORT", str(port))
        counted = []
        for number in (2, 9):
            wrong = f'{tells}if number == {number}: good = "no"'
            counted.append(asked(repo, tmp_path / f"out-{number}", wrong, heard))
    plain = [one.pop("99") for one in counted]
    assert plain[0] == plain[1], "what the plain Eval asks is its own"
    assert counted[0] == counted[1]
    assert len(set(counted[0].values())) == 1, "all of them as often as the worst one"
    assert max(counted[0].values()) > 3, "more than planned, or this tells nothing"


JUDGED = "    - {type: judge, rubric: Says that all is fine.}\n---"
SLOW = 6.0
"""Seconds that the judge takes for an answer that it does not like."""


def takes_its_time() -> Responder:
    """Judge, and think long about what is wrong, the first time."""
    delays = [SLOW]

    def judge(call: Call) -> Answer:
        if b"wrong answer" not in call.raw:
            return reply(call, json.dumps(KIND))
        found: dict[str, object] = {"rule": "Says that all is fine", "severity": "high"}
        found |= {"evidence_step": 2, "quote": "wrong answer"}
        said = reply(call, json.dumps({**VERDICT, "violations": [found]}))
        return replace(said, delay=delays.pop() if delays else 0)

    return judge


@pytest.mark.parametrize("sealed", [True, False])
def test_when_the_next_question_comes_tells_nothing_of_what_the_judge_said(
    tmp_path: Path, sealed: bool, who: Who
) -> None:
    fixtures = "".join(FIXTURE.replace("NUMBER", str(n)) for n in range(4))
    judged = fixtures.replace("---", JUDGED) + EVAL.replace("MODEL", "").rstrip()
    judged += "\n  judge: {model: openai/judge}\n  execution: {parallel: 1}\n"
    repo = Repo(tmp_path / "shop")
    repo.write("desk/agent.yaml", AGENT)
    repo.write("desk/desk.py", PROGRAM.replace("ANSWERS", ""))
    repo.write(".github/gateval.yml", CONFIG)
    if sealed:
        seal(repo, "evals/held.yaml", judged)
    else:
        repo.write("evals/held.yaml", judged)
    repo.commit("Judged")
    with listener() as (port, heard), provider(takes_its_time()) as (_, environ):
        tells = TELLS.replace("PORT", str(port))
        wrong = f'{tells}if number == 1: good = "a wrong answer"'
        asked(repo, tmp_path / "out", wrong, heard, who.run, **environ)
        moments = heard.moments[:4]
    assert [name for name, _ in moments] == ["0", "1", "2", "3"]
    waited = moments[2][1] - moments[1][1]
    assert (waited < SLOW) is sealed, "the control waits, and tells"
