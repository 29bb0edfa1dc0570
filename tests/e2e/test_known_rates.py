"""Runs of the real command on a program whose every answer is known beforehand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

import pytest

from benchmarks.known_rates import __main__ as known_rates
from benchmarks.known_rates.runs import Ran
from benchmarks.known_rates.scenarios import Counted, Scenario, counted
from benchmarks.known_rates.world import files, fixture_name
from tests.helpers.asking import ASK
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

FIXTURES = 6
PROGRAM = f"""\
{ASK}
import sys
answer = ask("known-model", SIDE + " " + json.load(sys.stdin)["prompt"])
sys.exit(3) if answer == "x" else print("yes" if answer == "y" else "no")
"""
"""An agent that says what its model says: `y`, `n`, or `x` for a crash."""


NAMES = [fixture_name(number) for number in range(FIXTURES)]


class Model(ThreadingHTTPServer):
    """A model on loopback that gives, for each side and fixture, the n-th answer to the n-th call.

    `answers` has a string of them for `base case-00`; after the last it repeats that one, and what
    is not there is always passed.
    """

    answers: Mapping[str, str] = {}

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self._calls: Counter[str] = Counter()
        self._lock = Lock()

    @property
    def environ(self) -> dict[str, str]:
        """The variables that lead a gate to this model."""
        return {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.server_address[1]}/v1",
            "OPENAI_API_KEY": "sk-known-0123456789",
        }

    def answer(self, asked: str) -> str:
        """The next answer for this side and fixture."""
        answers = self.answers.get(asked, "y")
        with self._lock:
            self._calls[asked] += 1
            return answers[min(self._calls[asked], len(answers)) - 1]


class Answering(BaseHTTPRequestHandler):
    """Answers one request in the format of OpenAI's chat completions."""

    server: Model

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        said = {"role": "assistant", "content": self.server.answer(body["messages"][-1]["content"])}
        reply = {
            "id": "known",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        content = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def model() -> Iterator[Model]:
    """A model that listens."""
    with Model() as listening:
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield listening
        finally:
            listening.shutdown()
            thread.join()


class Found(NamedTuple):
    """How a run ended: its exit status, its reasons, its trials by fixture as `base+head`."""

    code: int
    reasons: list[tuple[str, str, str]]
    trials: dict[str, str]
    shown: str


def run(
    tmp_path: Path,
    model: Model,
    base: Mapping[int, str],
    head: Mapping[int, str],
    more: str = "",
) -> Found:
    """Check a change from an agent with the answers `base`, by fixture, to one with `head`."""
    repo = Repo(tmp_path / "repo")
    for side in ("base", "head"):
        program = PROGRAM.replace("SIDE", repr(side))
        for path, text in files([1.0] * FIXTURES, program=program).items():
            repo.write(path, text + more if path.endswith("agent.yaml") else text)
        repo.commit()
    model.answers = {
        f"{side} {fixture_name(number)}": text
        for side, answers in (("base", base), ("head", head))
        for number, text in answers.items()
    }
    results = tmp_path / "results"
    arguments = ("check", "--base", "HEAD~1", "--head", "HEAD", "--results", str(results))
    done = gateval(repo, *arguments, **model.environ)
    assert done.returncode in {0, 1, 3}, done.stderr
    decision = json.loads((results / "decision.v1.json").read_text())
    trials = json.loads((results / "results.v1.json").read_text())["trials"]
    keys = [trial["key"] for trial in trials]
    sides = {name: [key["side"] for key in keys if key["fixture"] == name] for name in NAMES}
    return Found(
        code=done.returncode,
        reasons=[(one["verdict"], one["code"], one["text"]) for one in decision["reasons"]],
        trials={name: f"{of.count('base')}+{of.count('head')}" for name, of in sides.items()},
        shown=done.stdout,
    )


def others(trials: str, but: dict[str, str]) -> dict[str, str]:
    """The trials of all fixtures, `but` excepted."""
    return dict.fromkeys(NAMES, trials) | but


def test_one_failure_by_luck_does_not_block(tmp_path: Path, model: Model) -> None:
    found = run(tmp_path, model, {}, {0: "ny"})
    assert (found.code, found.reasons) == (0, [])
    assert found.trials == others("1+1", {"case-00": "3+3"})
    assert "could have been missed" in found.shown


def test_a_broken_fixture_is_found_with_as_few_trials_as_it_takes(
    tmp_path: Path, model: Model
) -> None:
    found = run(tmp_path, model, {}, {2: "n"})
    text = "case-02 regressed: passed 6 of 6 before, 0 of 6 now"
    assert (found.code, found.reasons) == (1, [("fail", "regression", text)])
    assert found.trials == others("1+1", {"case-02": "6+6"})


def test_what_looks_worse_to_the_end_is_shown_and_does_not_block(
    tmp_path: Path, model: Model
) -> None:
    found = run(tmp_path, model, {}, {1: "nynyyynyyyyyyyy"})
    text = "case-01 looks worse: passed 15 of 15 before, 12 of 15 now; not confirmed"
    assert (found.code, found.reasons) == (0, [("pass", "suspect", text)])
    assert found.trials == others("1+1", {"case-01": "15+15"})


def test_what_fails_as_before_is_listed(tmp_path: Path, model: Model) -> None:
    found = run(tmp_path, model, {3: "n"}, {3: "n"})
    text = "known-eval: 1 fixture fails before and now: case-03"
    assert (found.code, found.reasons) == (0, [("pass", "fails-as-before", text)])


def test_an_agent_that_crashes_now_and_then_as_before_passes(tmp_path: Path, model: Model) -> None:
    found = run(tmp_path, model, {0: "yx"}, {0: "xy"})
    text = "known-eval: 1 fixture fails before and now: case-00"
    assert (found.code, found.reasons) == (0, [("pass", "fails-as-before", text)])
    assert found.trials == others("1+1", {"case-00": "3+3"})


def test_one_that_crashes_each_time_is_blocked(tmp_path: Path, model: Model) -> None:
    found = run(tmp_path, model, {0: "n"}, {0: "x"})
    assert found.code == 1
    assert ("fail", "no-answer", "case-00: head does not answer; base does") in found.reasons
    assert found.trials == others("1+1", {"case-00": "6+6"})


def test_many_fixtures_that_are_each_a_little_worse(tmp_path: Path, model: Model) -> None:
    """Four of six fail their first trial, so all get six: one in three fails.

    One trial after the other, so that it is known which of them fails.
    """
    later = dict.fromkeys(range(4, FIXTURES), "yynyyn")
    more = "  execution: {parallel: 1}\n"
    found = run(tmp_path, model, {}, dict.fromkeys(range(4), "nyynyy") | later, more)
    text = "known-eval got worse as a whole: 100 % passed before, 67 % now"
    assert (found.code, found.reasons) == (1, [("fail", "regression", text)])
    assert set(found.trials.values()) == {"6+6"}


def test_a_declared_deterministic_agent_needs_two_trials_that_agree(
    tmp_path: Path, model: Model
) -> None:
    more = "  execution: {deterministic: true}\n"
    found = run(tmp_path, model, {}, {0: "n", 1: "ny"}, more)
    text = "case-00 regressed: passed 2 of 2 before, 0 of 2 now"
    assert (found.code, found.reasons) == (1, [("fail", "regression", text)])
    assert found.trials == others("1+1", {"case-00": "2+2", "case-01": "3+3"})


def test_a_threshold_missed_by_chance_is_looked_at_again(tmp_path: Path, model: Model) -> None:
    more = "  scoring: {passThreshold: 0.85}\n"
    found = run(tmp_path, model, {0: "n"}, {0: "ny"}, more)
    assert (found.code, found.reasons) == (0, [])
    assert set(found.trials.values()) == {"1+3"}


def test_the_benchmark_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert known_rates.main(["unchanged", "--runs", "1", "--cache", str(tmp_path)]) in {0, 1}
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["scenario", "figure", "counted", "bar"]
    assert {line.split()[0] for line in lines[1:] if line} == {"unchanged"}


def test_what_is_counted_and_which_bar_it_keeps() -> None:
    scenario = Scenario("x", (0.95,) * 10, broken=1, found=0.8, spent=1.2)
    hit = Ran(True, frozenset({"case-00"}), 15, 10)
    wrong = Ran(True, frozenset({"case-01"}), 10, 10)
    missed = Ran(False, frozenset(), 10, 10)
    figures = {one.what: one for one in counted(scenario, [hit, hit, wrong, missed])}
    assert figures["blocked"].value == 0.75
    assert figures["found"].value == 0.5
    assert figures["another fixture called regressed"].value == 0.25
    assert figures["trials of base / planned"].value == pytest.approx(1.25)
    assert figures["trials of head / planned"].value == pytest.approx(1.0)
    assert figures["trials of both / planned"].verdict == "OK"


@pytest.mark.parametrize(
    ("value", "least", "runs", "verdict"),
    [
        (0.8, True, 200, "OK"),
        (0.75, True, 200, "within chance"),
        (0.74, True, 200, "MISSED"),
        (0.85, False, 200, "within chance"),
        (0.86, False, 200, "MISSED"),
        (0.81, False, None, "MISSED"),
    ],
)
def test_chance_is_granted_two_standard_errors(
    value: float, least: bool, runs: int | None, verdict: str
) -> None:
    assert Counted("x", "y", value, bar=0.8, least=least, runs=runs).verdict == verdict
