"""`gateval calibrate --batch`: within a day at half the price, and nothing is paid twice."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from gateval.adapters.list_prices import ListPrices
from gateval.domain.trials.model_call import Usage
from gateval.gateway.batches import MOST
from tests.helpers.calibrations import answer, calibration, judged_shop, verdict
from tests.helpers.command import gateval, start_gateval
from tests.helpers.providers import KEY, provider
from tests.helpers.repo import Repo
from tests.servers.batches import BatchServer
from tests.servers.model_server import Answer, Call, reply

MODELS = ("openai/gpt-4o", "anthropic/claude-haiku-4-5")


def judge(call: Call) -> Answer:
    """Right about all twenty; about the third it needs to be asked once more."""
    text = call.raw.decode()
    number = next(one for one in range(1, 21) if answer(one) in text)
    if number == 3 and "cannot be used" not in text:
        return reply(call, "I cannot say.", usage=(1_000, 100))
    said = verdict(1.0) if number % 2 else verdict(0.0, answer(number))
    return reply(call, said, usage=(1_000, 100))


def shop_with(tmp_path: Path, *models: str, labels: int = 20) -> Repo:
    shop = judged_shop(tmp_path / "shop", wrong=0)
    body = json.loads(calibration(labels, judgeModels=list(models)))
    shop.write("evals/tone.yaml", json.dumps(body))
    shop.write("evals/support-eval.yaml", "")
    return shop


def book(shop: Repo) -> Path | None:
    return next(iter(shop.path.glob(".gateval/results/batches-*.json")), None)


@pytest.mark.parametrize("model", MODELS)
def test_a_batch_answers_all_and_costs_what_the_list_says_of_batches(
    tmp_path: Path, model: str
) -> None:
    shop, served = shop_with(tmp_path, model), BatchServer(judge)
    with provider(served) as (server, environ):
        done = gateval(shop, "calibrate", "--batch", "--json", **environ)
        asked = [call for call in server.calls if KEY not in str(call.headers)]
    assert done.returncode == 0, done.stderr + done.stdout
    (judged,) = json.loads(done.stdout)["judges"]
    assert (judged["kappa"], judged["scored"]) == (1, 20)
    assert [len(lines) for lines in served.made] == [20, 1], "the repair is a batch of its own"
    assert (served.alone, asked) == (0, [])
    assert f"gateval: {model}: 20 calls" in done.stderr
    assert "is in_progress, 0 of 20 done" in done.stderr
    assert book(shop) is None, "what is over is forgotten"
    usage = Usage(input_tokens=21_000, output_tokens=2_100)
    prices = ListPrices()
    half, whole = prices.price(model, usage, tier="batch"), prices.price(model, usage)
    assert whole is not None
    assert half == pytest.approx(whole / 2)


def test_the_same_command_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    shop, served = shop_with(tmp_path, *MODELS), BatchServer(judge, polls=10**9)
    with provider(served) as (_, environ):
        run = start_gateval(shop, "calibrate", "--batch", **environ)
        assert run.stderr is not None
        told = iter(run.stderr)
        out = [next(line for line in told if " went out as " in line) for _ in MODELS]
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        assert {line.split(": ")[1] for line in out} == set(MODELS)
        kept = book(shop)
        assert kept is not None
        first = json.loads(kept.read_text())
        assert KEY not in kept.read_text()
        assert len(served.made) == 2
        served.polls = 0
        done = gateval(shop, "calibrate", "--batch", "--json", **environ)
    assert done.returncode == 0, done.stderr
    assert [one["scored"] for one in json.loads(done.stdout)["judges"]] == [20, 20]
    again = [line["custom_id"] for lines in served.made for line in lines]
    assert len(again) == len(set(again)) == 42
    assert {len(one["asked"]) for one in first["batches"]} == {20}


def test_more_questions_than_one_batch_may_have_go_out_in_several(tmp_path: Path) -> None:
    """The answers of one are read in one piece, which has a limit."""
    shop = shop_with(tmp_path, MODELS[0], labels=MOST + 3)
    served = BatchServer(lambda call: reply(call, verdict(1.0)), polls=0)
    with provider(served) as (_, environ):
        done = gateval(shop, "calibrate", "--batch", "--json", **environ)
    (judged,) = json.loads(done.stdout)["judges"]
    assert (judged["scored"], judged["missing"]) == (MOST + 3, 0)
    assert [len(lines) for lines in served.made] == [MOST, 3]


def test_two_of_the_same_command_at_once_are_not_paid_twice(tmp_path: Path) -> None:
    """Each would write down its own batches alone; once one has ended, the other goes on."""
    shop, served = shop_with(tmp_path, MODELS[0]), BatchServer(judge, polls=10**9)
    with provider(served) as (_, environ):
        run = start_gateval(shop, "calibrate", "--batch", **environ)
        assert run.stderr is not None
        next(line for line in run.stderr if " went out as " in line)
        beside = gateval(shop, "calibrate", "--batch", **environ)
        assert beside.returncode == 2, beside.stderr
        assert "The same command is under way in this clone" in beside.stderr
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        served.polls = 0
        done = gateval(shop, "calibrate", "--batch", **environ)
    assert done.returncode == 0, done.stderr
    assert [len(lines) for lines in served.made] == [20, 1]
    assert list(shop.path.glob(".gateval/results/batches-*")) == []


@pytest.mark.parametrize("model", MODELS)
def test_what_got_no_answer_is_not_measured_and_alone_asked_again(
    tmp_path: Path, model: str
) -> None:
    fates = {answer(5): "expired", answer(6): "gone", answer(7): "errored"}
    shop, served = shop_with(tmp_path, model), BatchServer(judge, polls=0, fates=fates)
    with provider(served) as (_, environ):
        done = gateval(shop, "calibrate", "--batch", "--json", **environ)
        (judged,) = json.loads(done.stdout)["judges"]
        assert (judged["scored"], judged["missing"]) == (17, 3)
        errors = {one["number"]: one["error"] for one in judged["replay"]["examples"]}
        assert "the batch expired before it was answered" in errors[5]
        assert "the batch ended without an answer to it" in errors[6]
        assert "no such parameter" in errors[7]
        assert "4 questions got no answer and are not measured" in done.stderr, "one of them twice"
        before = sum(map(len, served.made))
        served.fates = {}
        done = gateval(shop, "calibrate", "--batch", "--json", **environ)
    (judged,) = json.loads(done.stdout)["judges"]
    assert (judged["scored"], judged["missing"]) == (20, 0)
    assert sum(map(len, served.made)) - before <= 4, "the three, one of them without a schema"
    assert book(shop) is None


@pytest.mark.parametrize("model", MODELS)
def test_where_it_is_not_known_whether_a_batch_was_taken_nothing_is_sent_again(
    tmp_path: Path, model: str
) -> None:
    shop, served = shop_with(tmp_path, model), BatchServer(judge)
    served.deaf = True
    with provider(served) as (_, environ):
        done = gateval(shop, "calibrate", "--batch", **environ)
        assert done.returncode == 3
        assert "took the batch is not known" in done.stderr
        again = gateval(shop, "calibrate", "--batch", **environ)
        assert again.returncode == 3
        assert "An earlier command ended while it sent 20 questions" in again.stderr
        assert len(served.made) == 1
        kept = book(shop)
        assert kept is not None
        assert str(kept.relative_to(shop.path)) in again.stderr.replace("\n", "")
        served.deaf, served.polls = False, 0
        kept.unlink()
        assert gateval(shop, "calibrate", "--batch", **environ).returncode == 0


def test_forged_books_and_odd_answers_name_no_path_and_end_no_command_in_a_traceback(
    tmp_path: Path,
) -> None:
    shop, served = shop_with(tmp_path, MODELS[1]), BatchServer(judge, polls=0)

    def odd(call: Call) -> Answer:
        got = served(call)
        if call.path.endswith("/batches"):
            return Answer(body=got.body.replace(b"msgbatch_1", b"../../v1/files?x="))
        return got

    with provider(odd) as (server, environ):
        done = gateval(shop, "calibrate", "--batch", **environ)
        assert done.returncode == 3
        assert "no usable `id`" in done.stderr
        assert [call.path for call in server.calls] == ["/v1/messages/batches"]
        kept = book(shop)
        assert kept is not None
        forged: dict[str, Any] = json.loads(kept.read_text())
        forged["batches"][0]["id"] = "../x"
        kept.write_text(json.dumps(forged))
        done = gateval(shop, "calibrate", "--batch", **environ)
        assert done.returncode == 2, done.stderr
        assert "could not be read, so it is not known what was sent" in done.stderr
        assert len(server.calls) == 1


def test_who_takes_no_batches_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    shop = shop_with(tmp_path, "openrouter/x", "openai/gpt-4o")
    with provider(BatchServer(judge)) as (server, environ):
        done = gateval(shop, "calibrate", "--batch", OPENROUTER_API_KEY="k", **environ)
        assert done.returncode == 2
        assert "--batch asks openai and anthropic alone, and not openrouter/x" in done.stderr
        assert server.calls == []


def test_judges_are_compared_in_batches_too(tmp_path: Path) -> None:
    shop, (first, other) = shop_with(tmp_path, *MODELS), MODELS
    tie = json.dumps({"preferred": "tie", "summary": "Alike.", "evidence": None, "quote": ""})
    served = BatchServer(
        lambda call: reply(call, tie) if b"<answers-" in call.raw else judge(call), polls=0
    )
    with provider(served) as (_, environ):
        done = gateval(
            shop, "calibrate", "--compare", f"{first},{other}", "--batch", "--json", **environ
        )
    assert done.returncode == 1, done.stderr
    (choice,) = json.loads(done.stdout)["choices"]
    assert [one["judged"]["kappa"] for one in choice["judges"]] == [1, 1]
    assert [one["position"]["pairs"] for one in choice["judges"]] == [10, 10]
    assert [one["spending"]["seconds"] for one in choice["judges"]] == [None, None]
    assert (served.alone, book(shop)) == (0, None)


def test_a_budget_that_is_too_small_for_all_at_once_makes_several_batches(tmp_path: Path) -> None:
    """Each question holds back what its answer may cost at most."""
    shop, served = shop_with(tmp_path, MODELS[0]), BatchServer(judge, polls=0)
    shop.write(".github/gateval.yml", "policy: {budget: {usd: 0.5}}\n")
    with provider(served) as (_, environ):
        done = gateval(shop, "calibrate", "--batch", "--json", **environ)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["judges"][0]["scored"] == 20
    assert len(served.made[0]) < 20
    assert sum(map(len, served.made)) == 21


def test_a_batch_that_the_provider_has_no_more_ends_the_command_with_what_to_do(
    tmp_path: Path,
) -> None:
    shop, served = shop_with(tmp_path, MODELS[1]), BatchServer(judge)

    def forgetful(call: Call) -> Answer:
        gone = "/batches/" in call.path
        return Answer(status=404, body=b'{"error": {"message": "x"}}') if gone else served(call)

    with provider(forgetful) as (_, environ):
        done = gateval(shop, "calibrate", "--batch", **environ)
    assert done.returncode == 3
    kept = book(shop)
    assert kept is not None
    assert f"remove {kept.relative_to(shop.path)}" in " ".join(done.stderr.split())
