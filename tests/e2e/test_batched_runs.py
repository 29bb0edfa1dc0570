"""`gateval run --batch`: judges answer within a day at half the price, and no answer is paid twice."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateval.adapters.list_prices import ListPrices
from gateval.domain.trials.model_call import Usage
from tests.helpers.calibrations import FIXTURES, judged_shop, verdict
from tests.helpers.command import gateval, start_gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.servers.batches import BatchServer
from tests.servers.model_server import Answer, Call, reply

MODELS = ("openai/gpt-4o", "anthropic/claude-haiku-4-5")
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
  judge: {model: MODEL}
  execution: {repsPerFixture: 3}
"""
ASKED = 6
"""Two fixtures, three times each, whose answers are all alike."""


def kind(call: Call) -> Answer:
    return reply(call, verdict(1.0), usage=(1_000, 100))


def shop_with(tmp_path: Path, model: str) -> Repo:
    shop = judged_shop(tmp_path / "shop", wrong=0)
    shop.write("evals/support-eval.yaml", EVAL.replace("MODEL", model))
    shop.write("evals/tone.yaml", "")
    shop.write("evals/fixtures.yaml", FIXTURES)
    shop.commit("A judge in batches")
    return shop


class Ran:
    """What a command left."""

    def __init__(self, shop: Repo, *arguments: str, **environ: str) -> None:
        done = gateval(shop, "run", "support-eval", "--batch", *arguments, **environ)
        self.code, self.said = done.returncode, done.stderr
        folders = sorted(shop.path.glob(".gateval/results/2*"))
        assert folders, self.said
        self.folder = folders[-1]
        file = self.folder / "results.v1.json"
        self.results: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    @property
    def judged(self) -> list[tuple[str, str]]:
        """How the judge's assertion in each trial ended, and why."""
        return [
            (one["status"], one["reason"])
            for trial in self.results["trials"]
            for one in trial["assessments"]
            if one["type"] == "judge"
        ]

    @property
    def statuses(self) -> list[str]:
        return [status for status, _ in self.judged]


@pytest.mark.parametrize("model", MODELS)
def test_all_trials_of_a_look_are_judged_in_one_batch_at_half_the_price(
    tmp_path: Path, model: str
) -> None:
    shop, served = shop_with(tmp_path, model), BatchServer(kind)
    with provider(served) as (_, environ):
        ran = Ran(shop, **environ)
    assert ran.code == 0, ran.said
    assert ran.statuses == ["passed"] * ASKED
    assert ([len(lines) for lines in served.made], served.alone) == ([ASKED], 0)
    whole = ListPrices().price(model, Usage(input_tokens=1_000, output_tokens=100))
    assert whole is not None
    spent = [one["judge_usage"]["usd"] for one in ran.results["trials"]]
    assert spent == pytest.approx([whole / 2] * ASKED)


def test_a_run_whose_time_is_over_is_incomplete_and_the_next_takes_the_answers(
    tmp_path: Path,
) -> None:
    shop, served = shop_with(tmp_path, MODELS[0]), BatchServer(kind, polls=10**9)
    with provider(served) as (_, environ):
        cut = Ran(shop, "--max-minutes", "0.1", **environ)
        assert cut.code == 3, cut.said
        assert cut.results["info"]["ended"].startswith("The time of the run was over")
        assert set(cut.statuses) == {"error"}
        assert "had not answered when the run ended" in cut.judged[0][1]
        still = Ran(shop, "--max-minutes", "0.1", "--resume", **environ)
        assert (still.code, set(still.statuses)) == (3, {"error"}), "it goes on again and again"
        served.polls = 0
        ended = Ran(shop, "--resume", **environ)
    assert ended.code == 0, ended.said
    assert ended.statuses == ["passed"] * ASKED
    assert "of 6 more the judge alone is asked again" in ended.said
    assert [len(lines) for lines in served.made] == [ASKED], "and nothing is paid twice"


def test_a_run_that_is_killed_while_it_waits_goes_on(tmp_path: Path) -> None:
    shop, served = shop_with(tmp_path, MODELS[1]), BatchServer(kind, polls=10**9)
    with provider(served) as (_, environ):
        run = start_gateval(shop, "run", "support-eval", "--batch", **environ)
        assert run.stderr is not None
        next(line for line in run.stderr if " went out as " in line)
        run.send_signal(signal.SIGKILL)
        run.communicate(timeout=60)
        served.polls = 0
        ended = Ran(shop, "--resume", **environ)
    assert (ended.code, ended.statuses) == (0, ["passed"] * ASKED), ended.said
    assert [len(lines) for lines in served.made] == [ASKED]


def told(ran: Ran) -> Any:
    """What a run stored of each trial, but how long it took."""
    trials = sorted(ran.results["trials"], key=lambda one: json.dumps(one["key"]))
    return json.loads(json.dumps(trials), object_hook=lambda one: {**one, "seconds": None})


def test_a_trial_that_failed_otherwise_is_judged_in_the_run_that_goes_on(tmp_path: Path) -> None:
    """It is stored as one that nobody cut short would have stored it, and paid for once."""

    def cold(path: Path) -> Repo:
        shop = shop_with(path, MODELS[0])
        shop.write("evals/fixtures.yaml", FIXTURES.replace("value: Hello", "value: Farewell"))
        shop.commit("It never says that")
        return shop

    shop, served = cold(tmp_path / "cut"), BatchServer(kind, polls=10**9)
    with provider(served) as (_, environ):
        cut = Ran(shop, "--max-minutes", "0.1", **environ)
        assert (cut.code, set(cut.statuses)) == (1, {"error"}), cut.said
        assert {one["outcome"] for one in told(cut)} == {"fail", "error"}
        served.polls = 0
        ended = Ran(shop, "--resume", **environ)
    whole = BatchServer(kind, polls=0)
    with provider(whole) as (_, environ):
        ran = Ran(cold(tmp_path / "whole"), **environ)
    assert "of 6 more the judge alone is asked again" in ended.said
    assert (ended.code, ended.statuses) == (ran.code, ["passed"] * ASKED), ended.said
    assert told(ended) == told(ran)
    assert [len(lines) for lines in served.made] == [ASKED], "and nothing is paid twice"


def _of(body: bytes, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> bytes:
    lines = [json.loads(one) for one in body.splitlines()]
    return b"\n".join(json.dumps(one).encode() for one in change(lines))


def _renamed(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each answer says that it is of a question which nobody asked."""
    return [{**one, "custom_id": f"{number:040x}-1"} for number, one in enumerate(lines)]


def _twice(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each question is failed first, and passed in a second answer."""
    low = json.loads(json.dumps(lines).replace('score\\\\\\": 1.0', 'score\\\\\\": 0.0'))
    return [*low, *lines]


def _endless(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [*lines, {"custom_id": "x", "padding": "x" * 21 * 1024 * 1024}]


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (_renamed, "ended without an answer to it"),
        (_twice, "holds two answers to it"),
        (_endless, "sent more than 20 MB"),
        (lambda _: [], "ended without an answer to it"),
        (lambda _: [{"custom_id": None}], "ended without an answer to it"),
    ],
    ids=["of other questions", "twice", "too large", "none", "without a name"],
)
def test_an_answer_that_is_not_one_to_what_was_asked_is_an_error(
    tmp_path: Path, attack: Callable[[Any], Any], said: str
) -> None:
    shop, served = shop_with(tmp_path, MODELS[1]), BatchServer(kind, polls=0)

    def odd(call: Call) -> Answer:
        got = served(call)
        results = call.path.endswith("/results")
        return replace(got, body=_of(got.body, attack)) if results else got

    with provider(odd) as (_, environ):
        ran = Ran(shop, **environ)
    assert ran.code == 3, ran.said
    assert set(ran.statuses) == {"error"}
    assert said in ran.judged[0][1]
    assert [len(lines) for lines in served.made] == [ASKED], "nothing is asked again in this run"


def test_two_trials_that_say_the_same_do_not_share_an_answer(tmp_path: Path) -> None:
    """One that got an answer would else give it to its neighbour when the run goes on."""
    shop, served = shop_with(tmp_path, MODELS[0]), BatchServer(kind, polls=0)
    with provider(served) as (_, environ):
        Ran(shop, **environ)
    names = {line["custom_id"].partition("-")[0] for line in served.made[0]}
    assert len(names) == ASKED


@pytest.mark.parametrize("fate", ["expired", "errored"])
def test_what_expires_is_an_error_and_asked_again_by_who_goes_on(tmp_path: Path, fate: str) -> None:
    shop = shop_with(tmp_path, MODELS[1])
    served = BatchServer(kind, polls=0, fates={"Is it kind": fate})
    with provider(served) as (_, environ):
        cut = Ran(shop, **environ)
        assert (cut.code, set(cut.statuses)) == (3, {"error"}), cut.said
        served.fates = {}
        ended = Ran(shop, "--resume", **environ)
    assert (ended.code, ended.statuses) == (0, ["passed"] * ASKED), ended.said


@pytest.mark.parametrize(
    "forged", ["{", '{"batches": [{"model": "x", "asked": [], "id": "../x"}]}']
)
def test_a_forged_book_ends_the_command_before_anything_is_asked(
    tmp_path: Path, forged: str
) -> None:
    shop, served = shop_with(tmp_path, MODELS[0]), BatchServer(kind, polls=10**9)
    with provider(served) as (server, environ):
        cut = Ran(shop, "--max-minutes", "0.05", **environ)
        (cut.folder / "batches.json").write_text(forged)
        asked = len(server.calls)
        done = gateval(shop, "run", "support-eval", "--batch", "--resume", **environ)
        assert (done.returncode, len(server.calls)) == (2, asked), done.stderr
    assert "could not be read, so it is not known what was sent" in done.stderr


def test_what_cannot_wait_is_refused(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, MODELS[0])
    for with_it in (["--record"], ["--shard", "1/2"], ["--plan", "x.json"]):
        done = gateval(shop, "run", "--batch", *with_it)
        assert done.returncode == 2, with_it
    unknown = gateval(shop, "check", "--batch")
    assert (unknown.returncode, "No such option" in unknown.stderr) == (2, True)
