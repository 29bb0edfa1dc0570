"""`gateval judge try`: the prompt, the verdict and the evidence check for one answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers import stored
from tests.helpers.calibrations import verdict
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: kind-word}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  reference: {context: We open at nine.}
  assertions:
    - {type: contains, value: Hello}
    - {type: judge, name: kindness, rubric: Is it kind?}
    - {type: judge, preset: faithfulness}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: kind-eval}
spec:
  targetAgent: support
  fixtures: [kind-word]
  judge: {model: scripted/judge}
"""
TRACE = {
    "messages": [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Go away, we open at six."},
    ]
}
RULES = {
    "rules": [
        {"when": {"user": "Is it kind?"}, "reply": verdict(0.1, "Go away")},
        {"when": {"turn": 2}, "reply": verdict(0.2, "we open at eight")},
        {"reply": verdict(0.2, "we open at seven")},
    ]
}


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = build_shop(tmp_path / "shop")
    repo.write("evals/kind.yaml", f"{FIXTURE}---\n{EVAL}")
    repo.write(".gateval/scripted/judge.yaml", json.dumps(RULES))
    repo.commit("A judge")
    return repo


def test_a_trace_is_judged_and_everything_is_shown(shop: Repo, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps(TRACE))
    done = gateval(shop, "judge", "try", "kind-word", "--trace", str(trace), COLUMNS="200")
    said = " ".join(done.stdout.split())
    assert "kindness (evals/kind.yaml:9:7) Question 1 of 1" in said, done.stdout + done.stderr
    assert "You are a strict and fair judge" in said
    assert '{"rubric":"Is it kind?"}' in said
    assert "score 0.10, confidence 0.90" in said
    assert "✓ high: kind | Go away Quote found in step 2" in said
    # what the judge makes up is asked for again, and does not count
    assert "Question 2 of 2 assistant:" in said
    assert "✗ high: kind | we open at eight Quote not found in step 2; does not count" in said
    assert 'the quote "we open at eight" does not stand in step 2.' in said
    assert done.returncode == 3
    assert "We open at nine." in said


def test_without_a_trace_it_is_the_answer_of_the_last_run(shop: Repo) -> None:
    nothing = gateval(shop, "judge", "try", "kind-eval/kind-word")
    assert (nothing.returncode, "No run is stored" in nothing.stderr) == (2, True)
    gateval(shop, "run", "kind-eval")
    done = gateval(shop, "judge", "try", "kind-eval/kind-word")
    assert "Hello! How can I help?" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kind-wort",), 'No Eval has a fixture "kind-wort". Did you mean "kind-word"?'),
        (("greets",), 'No assertion of the fixture "greets" asks a judge.'),
        (("kind-word", "--trace", "no.json"), "no.json could not be read"),
        (("kind-word", "--model", "openai/gpt"), "OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_tried_is_told(shop: Repo, words: tuple[str, ...], said: str) -> None:
    done = gateval(shop, "judge", "try", *words)
    assert done.returncode in {2, 3}
    assert said in " ".join(done.stderr.split())


def test_a_file_of_several_runs_gives_the_answer_to_this_fixture(
    shop: Repo, tmp_path: Path
) -> None:
    second = FIXTURE.replace("kind-word", "last-word").replace("Hello", "Goodbye")
    shop.write("evals/last.yaml", second)
    shop.write(
        "evals/kind.yaml", f"{FIXTURE}---\n{EVAL.replace('[kind-word]', '[kind-word, last-word]')}"
    )
    shop.commit("Two fixtures")
    out = tmp_path / "out"
    gateval(shop, "run", "kind-eval", "--results", str(out))
    answers = {one["key"]["fixture"]: one["output"] for one in stored.trials(out)}
    assert len(set(answers.values())) == 2, answers
    stored.make_old(out)
    for name, answer in answers.items():
        for file in ("trials.jsonl", "results.v1.json"):
            done = gateval(shop, "judge", "try", name, "--trace", str(out / file))
            assert answer in " ".join(done.stdout.split())[:200], done.stdout + done.stderr


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([TRACE, TRACE], "holds 2 runs, and nothing says which answers to"),
        ([{"key": {"eval": "e", "fixture": "other", "side": "head", "repetition": 1},
           "outcome": "pass", "output": "A",
           "trace": {"source": "gate", "steps": [
               {"number": 1, "kind": "user", "text": "B"},
               {"number": 2, "kind": "assistant", "text": "A"}]}}],
         'no answer to "kind-word": the first answers to "other"'),
    ],
)  # fmt: skip
def test_a_record_of_something_else_is_refused(
    shop: Repo, tmp_path: Path, runs: list[object], said: str
) -> None:
    record = tmp_path / "runs.jsonl"
    record.write_text("\n".join(map(json.dumps, runs)))
    done = gateval(shop, "judge", "try", "kind-word", "--trace", str(record))
    assert (done.returncode, said in " ".join(done.stderr.split())) == (2, True), done.stderr


def test_a_record_of_another_question_is_told(shop: Repo, tmp_path: Path) -> None:
    record = tmp_path / "run.json"
    record.write_text(json.dumps(TRACE).replace('"Hello"', '"What is on?"'))
    done = gateval(shop, "judge", "try", "kind-word", "--trace", str(record))
    assert "This record answers to another input than the fixture's." in done.stdout
