"""Scorers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.compat.rows import states
from tests.helpers.experiments import lab, means, ran, refused

TASK = "task: {python: task.py:shout}\n"
ROWS = "data: [{input: hello, expected: HELLO}, {input: world, expected: WORLDS}]\n"


def scored(path: Path, scorers: str, rows: str = ROWS, **files: str) -> dict[str, float | None]:
    results, _ = ran(lab(path / "repo", f"{TASK}{rows}scorers:\n{scorers}", **files))
    return means(results)


@states("Several scorers score each run, each by its name")
@states("A scorer's average is the sum of its scores over the number of runs")
def test_several_at_once(tmp_path: Path) -> None:
    scorers = """\
  - exactMatch
  - contains
  - {type: levenshtein, name: near}
  - {type: contains, name: has-o, value: O}
  - {type: latency, maxSeconds: 600}
"""
    assert scored(tmp_path, scorers) == {
        "exactMatch": 0.5,
        "contains": 0.5,
        "near": (1 + 5 / 6) / 2,
        "has-o": 1.0,
        "latency": 1.0,
    }


@states("`exactMatch` gives 1 if `output === expected`, else 0", differs="white space around texts is "
        "ignored; what is no text is compared by value, where `===` finds objects never equal")  # fmt: skip
@states("`dummyRelevance` gives the length of the input over that of the output, at most 1")
def test_the_two_scorers_of_the_article(tmp_path: Path) -> None:
    rows = "data: [{input: hello, expected: HELLO}, {input: a, expected: {b: 1}}]\n"
    task = "def shout(text):\n    return {'b': 1} if text == 'a' else '  HELLO\\n'\n"
    own = "  - {type: python, name: dummyRelevance, function: scorers/all.py::dummy_relevance}\n"
    found = scored(tmp_path, f"  - exactMatch\n{own}", rows, **{"task.py": task})
    assert found == {"exactMatch": 1.0, "dummyRelevance": (5 / 8 + 1 / 7) / 2}


@states("Cost: what the output cost, by tokens or calls", differs="a limit scores 1, twice as much "
        "a half, so that a scorer is between 0 and 1")  # fmt: skip
@states("Performance: how long it took", differs="in the same way")
def test_cost_and_latency(tmp_path: Path) -> None:
    spec = """\
targetAgent: shouter
data: [{input: hello}]
scorers: [{type: cost, maxTokens: 1}, {type: cost, name: cheap, maxTokens: 100000}, {type: latency, maxSeconds: 600}]
"""
    repo = lab(tmp_path / "repo", spec)
    agent = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: shouter}\n"
    repo.write(
        "agents/shouter.yaml", f"{agent}spec: {{models: [scripted/shouter], system: Shout.}}\n"
    )
    repo.write(".gateval/scripted/shouter.yaml", "rules: [{reply: HELLO}]\n")
    found = means(ran(repo)[0])
    assert 0 < (found["cost"] or 0) < 1
    assert (found["cheap"], found["latency"]) == (1, 1)


@states(
    "A scorer gives a number, typically between 0 and 1",
    refused="cannot be used: score: Input should be less than or equal to 1",
)
def test_a_score_beyond_1_is_none(tmp_path: Path) -> None:
    own = "from gateval.checks import check\n\n@check\ndef much(trial):\n    return 2\n"
    spec = f"{TASK}{ROWS}scorers: [{{type: python, function: scorers/own.py::much}}]\n"
    _, shown = ran(lab(tmp_path / "repo", spec, **{"scorers/own.py": own}))
    assert "python: – (⚪), measured in 0 of 2 rows" in shown
    assert "cannot be used: score: Input should be less than or equal to 1" in " ".join(
        shown.split()
    )


@states("A scorer is a function of one's own, which gets input, output, expected and reference",
        differs="a decorated Python function, or a program in any language")  # fmt: skip
def test_ones_own(tmp_path: Path) -> None:
    own = """\
from gateval.checks import Result, Trial, check


@check
def all_of_it(trial: Trial) -> Result:
    told = [trial.prompt, trial.output, trial.expected, trial.context]
    return Result(0.25 if told == ["hello", "HELLO", "HELLO", ["a", "b"]] else 1.0)
"""
    script = """\
#!/bin/sh
printf '{"score": 0.75}'
"""
    rows = "data: [{input: hello, expected: HELLO, reference: [a, b]}]\n"
    scorers = """\
  - {type: python, name: mine, function: scorers/own.py::all_of_it}
  - {type: script, name: theirs, command: [sh, scorers/other.sh]}
"""
    files = {"scorers/own.py": own, "scorers/other.sh": script}
    assert scored(tmp_path, scorers, rows, **files) == {"mine": 0.25, "theirs": 0.75}


def test_a_weight_counts_in_the_whole_and_not_in_the_averages(tmp_path: Path) -> None:
    spec = (
        f"{TASK}{ROWS}scorers: [{{type: exactMatch, weight: 3}}, {{type: contains, weight: 1}}]\n"
    )
    results, _ = ran(lab(tmp_path / "repo", spec))
    assert means(results) == {"exactMatch": 0.5, "contains": 0.5}
    spec = f"{TASK}{ROWS}scorers: [{{type: exactMatch, weight: 3}}, {{type: levenshtein, weight: 1}}]\n"
    results, _ = ran(lab(tmp_path / "other", spec))
    assert results.trials[1].score == pytest.approx((3 * 0 + 5 / 6) / 4, abs=1e-12)


JUDGED = ["relevance", "completeness", "faithfulness", "factuality", "answerRelevancy", "toxicity", "security", "compliance", "fairness", "transparency", "tone"]  # fmt: skip


def verdict(score: float, quote: str) -> str:
    blamed = {"rule": "x", "severity": "low", "evidence_step": 2, "quote": quote}
    said = {"score": score, "confidence": 1, "summary": "So.", "what_would_raise_score": ""}
    return json.dumps({**said, "violations": [blamed] if score < 0.5 else []})


@states("Faithfulness: the output only holds what the reference says")
@states("Answer relevancy: the output is relevant to the input")
@states("Factuality: the output agrees with known facts")
@states("Toxicity: the output holds nothing harmful", differs="1 is harmless, so that 🟢 is always "
        "better")  # fmt: skip
@states("Security, compliance, fairness and transparency of the output")
@states("An LLM scores the output of another LLM by criteria in a prompt", differs="and names the "
        "step and a quote for what it blames, which the gate checks")  # fmt: skip
def test_judged_ones(tmp_path: Path) -> None:
    rules = [
        {"when": {"user": "Faithfulness: every claim"}, "reply": verdict(0.25, "HELLO")},
        {"when": {"user": "Tone: the final answer"}, "reply": verdict(0.75, "HELLO")},
        {"reply": verdict(1, "")},
    ]
    spec = f"""\
{TASK}data: [{{input: hello, expected: HELLO, reference: Say it loud.}}]
scorers: [{", ".join(JUDGED)}]
judge: {{model: scripted/judge}}
"""
    repo = lab(tmp_path / "repo", spec)
    repo.write(".gateval/scripted/judge.yaml", json.dumps({"rules": rules}))
    results, _ = ran(repo)
    assert means(results) == dict.fromkeys(JUDGED, 1.0) | {"faithfulness": 0.25, "tone": 0.75}


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("[exactmatch]", 'Unknown scorer "exactmatch". Did you mean "exactMatch"?'),
        ("[exactMatch, exactMatch]", "Two scorers are called exactMatch. Give one another `name`."),
        ("[{type: exactMatch, axis: a}]", "A scorer has no `axis`: it is an axis by itself"),
        ("[{type: exactMatch, name: people}]", "`people` is what feedback is called."),
        ("[{name: a}]", 'The required key "type" is missing'),
        ("[{type: numeric, tolerence: 1}]", '"tolerance"'),
        ("[numeric]", ("`numericExpected` compares numbers, and the expected answer is none, which "
         "the scorer numeric at lab/experiment.yaml:7:13 asks for")),
        ("[faithfulness]", ("The preset faithfulness needs `reference`, which the scorer "
         "faithfulness at lab/experiment.yaml:7:13 asks for.")),
        ("[tone]", "This Eval has no judge"),
        ("[]", "at least 1"),
    ],
)  # fmt: skip
def test_what_is_no_scorer_is_refused(tmp_path: Path, spec: str, said: str) -> None:
    told = refused(tmp_path / "repo", f"{TASK}{ROWS}scorers: {spec}\n")
    assert said in " ".join(told.split())


@states("A scorer that throws ends the whole evaluation",
        differs="its score of that row is unknown: the average is that of the others, and the run "
        "is inconclusive")  # fmt: skip
def test_a_scorer_that_breaks_is_no_score(tmp_path: Path) -> None:
    own = """\
from gateval.checks import check

@check
def halves(trial):
    return {"HELLO": 0.5}[trial.output]
"""
    spec = f"{TASK}{ROWS}scorers: [{{type: python, function: scorers/own.py::halves}}]\n"
    _, shown = ran(lab(tmp_path / "repo", spec, **{"scorers/own.py": own}))
    assert "→ python: 50.00% (⚪), measured in 1 of 2 rows" in shown
    assert shown.startswith("Gateval: inconclusive")
