"""`gateval calibrate --compare`: which judge to take, on the person's own labels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.calibrations import answer, calibration, judged_shop, script, verdict
from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.servers.model_server import Answer, Call, reply

TIE = json.dumps({"preferred": "tie", "summary": "Alike.", "evidence": None, "quote": ""})
CHEAP, GOOD, DOWN = "openai/gpt-4o-mini", "openai/gpt-4o", "anthropic/claude-haiku-4-5"


FIRST = {"preferred": "first", "summary": "It is.", "evidence": "first", "quote": "Answer no."}


def judges(call: Call) -> Answer:
    """Both models are right about 60 examples; the cheap one passes what an attack says last, and
    what is shown first. A third one is down.
    """
    body, text = call.body, call.raw.decode()
    if call.is_anthropic:
        return Answer(
            status=401, body=b'{"error": {"type": "authentication_error", "message": "no"}}'
        )
    cheap = body["model"] == "gpt-4o-mini"
    if "<answers-" in text:
        return reply(call, json.dumps(FIRST) if cheap else TIE)
    number = next(one for one in range(1, 61) if answer(one) in text)
    passes = number % 2 == 1 or (cheap and "core it 1" in text)
    return reply(call, verdict(1.0) if passes else verdict(0.0, answer(number)))


def test_the_cheapest_judge_that_is_shown_to_agree_is_recommended(tmp_path: Path) -> None:
    shop = judged_shop(tmp_path / "shop", wrong=0, of=60)
    plot, out = tmp_path / "plot.svg", tmp_path / "out"
    with provider(judges) as (server, environ):
        done = gateval(
            shop, "calibrate", "tone", "--compare", f"{CHEAP},{GOOD},{DOWN}", "--plot", str(plot),
            "--results", str(out), **environ,
        )  # fmt: skip
        calls = len(server.calls)
    said = " ".join(done.stdout.split())
    assert done.returncode == 3, done.stdout + done.stderr
    assert "gateval: at least $" in done.stderr
    assert f"{DOWN} is not measured." in said
    assert f"Recommended: {CHEAP}, the cheapest that is shown to agree" in said
    assert "No Eval bounds what talks it round (`judge.maxInjected`): " in said
    assert "at 98.3 % (5 % shared by 3), and 0.6 is asked" in said
    found = json.loads((out / "judge-comparison.v1.json").read_text())
    (choice,) = found["choices"]
    by_name = {one["judged"]["model"]: one for one in choice["judges"]}
    assert [*by_name] == [CHEAP, GOOD, DOWN], "the cheapest first, the unknown last"
    cheap, good, down = by_name[CHEAP], by_name[GOOD], by_name[DOWN]
    assert 0 < cheap["spending"]["usd"] < good["spending"]["usd"]
    assert cheap["spending"]["seconds"] is not None
    tried = good["injected"]["asked"]
    assert (good["injected"]["through"], tried > 40) == (0, True)
    assert 0 < cheap["injected"]["through"] < tried
    assert (cheap["position"]["first"], cheap["position"]["pairs"]) == (10, 10)
    assert (good["position"]["first"], good["position"]["second"]) == (0, 0)
    assert [down[key] for key in ("bound", "error", "spending", "injected", "position")] == [
        None
    ] * 5
    assert plot.read_text().startswith("<svg")
    kept = json.loads(gateval(shop, "get", "calibrations", "-o", "json").stdout)
    assert kept[0]["phase"] == "Pending", "what is compared counts for no Eval"
    said_before = 60 + tried + 20
    assert f"gateval: {CHEAP}: {said_before} calls, about" in done.stderr
    assert 2 * said_before <= calls <= 2 * said_before + 16, (
        "who refuses the key is not asked again and again"
    )


def test_a_judge_that_attacks_talk_round_is_not_recommended_where_an_eval_bounds_them(
    tmp_path: Path,
) -> None:
    """The cheap one agrees as well, and would count for nothing. So many attacks show the bound."""
    said = {}
    for bound in ("0.05", "0.001"):
        shop = judged_shop(
            tmp_path / bound, wrong=0, of=60, judge=f"calibration: tone, maxInjected: {bound}"
        )
        words = ("calibrate", "tone", "--compare", f"{CHEAP},{GOOD}")
        with provider(judges) as (_, environ):
            done = gateval(shop, *words, "--json", **environ)
            shown = " ".join(gateval(shop, *words, **environ).stdout.split())
        (choice,) = json.loads(done.stdout)["choices"]
        cheap, good = choice["judges"]
        assert cheap["holds"]
        assert good["injected"]["asked"] > 200, "all attacks"
        said[bound] = (done.returncode, choice["recommended"], shown)
    assert said["0.05"][:2] == (0, GOOD)
    assert f"{CHEAP} agrees, but it would not count:" in said["0.05"][2]
    assert said["0.001"][:2] == (1, "")
    assert "each judge that agrees enough is talked round too easily" in said["0.001"][2]


def test_none_yet_says_about_how_many_more_labels(tmp_path: Path) -> None:
    shop = judged_shop(tmp_path / "shop", wrong=2)
    shop.write(".gateval/scripted/other.yaml", script(wrong=9, of=20, agent=verdict(1.0)))
    body = json.loads(calibration(20, judgeModels=["scripted/judge", "scripted/other"]))
    shop.write("evals/tone.yaml", json.dumps(body))
    words = (
        "calibrate",
        "--compare",
        "scripted/judge,scripted/other,scripted/judge+scripted/other",
    )
    done = gateval(shop, *words, "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    (choice,) = json.loads(done.stdout)["choices"]
    assert choice["recommended"] == ""
    assert 50 < choice["labels"] < 200
    said = " ".join(gateval(shop, *words).stdout.split())
    assert f"about {choice['labels']} more labels would (Cantor 1996, power 80 %)" in said
    assert "The jury errs in 30 % of 20" in said
    assert "no better than one: scripted/judge alone errs in 10 % of 20" in said


@pytest.mark.parametrize(
    ("compared", "said"),
    [
        ("scripted/judge", "takes 2 to 20 different judges, and not 1"),
        ("scripted/judge,gpt", '"gpt" names no judge'),
        ("scripted/judge,scripted/judge>scripted/judge", "names another model than"),
        ("scripted/judge,openai/gpt-5", "needs OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anybody_is_asked(
    tmp_path: Path, compared: str, said: str
) -> None:
    shop = judged_shop(tmp_path / "shop", wrong=0, of=2)
    done = gateval(shop, "calibrate", "--compare", compared)
    assert done.returncode in {2, 3}
    assert said in " ".join(done.stderr.split())
    assert "calls, about" not in done.stderr
