"""`similar`: the measures against other implementations, and the assertion around them."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from gateval.assertions.matching import bleu, levenshtein, rouge_l
from tests.helpers.trials import assessed, said

SAID = "I am sorry, but I cannot share this with you"

KNOWN = [
    ("The cat sat on the mat.", "The cat is on the mat.", 0.833333, 0.488923),
    ("the the the the", "the cat", 0.333333, 0.159736),
    (
        "A refund was sent to your card.",
        "Your refund was sent to the card you paid with.",
        0.588235,
        0.262959,
    ),
    ("Your parcel arrives on Tuesday.", "Your parcel arrives on Tuesday.", 1, 1),
    ("yes", "yes", 1, 1),
    ("yes", "no", 0, 0),
    ("I cannot share that", SAID, 0.428571, 0.103327),
]
"""Text, reference, and what rouge-score 0.1.2 and sacrebleu 2.6.0 (`sentence_bleu` with
`use_effective_order`, as a share of 1) make of them."""


@pytest.mark.parametrize(("text", "reference", "rouge", "blue"), KNOWN)
def test_the_measures_are_those_of_others(
    text: str, reference: str, rouge: float, blue: float
) -> None:
    assert rouge_l(text, reference) == pytest.approx(rouge, abs=1e-6)
    assert bleu(text, reference) == pytest.approx(blue, abs=1e-6)


def test_edits() -> None:
    assert levenshtein("kitten", "sitting") == pytest.approx(1 - 3 / 7)
    assert levenshtein("", "abcd") == 0


@pytest.mark.parametrize("measure", [bleu, rouge_l, levenshtein])
def test_nothing_is_like_nothing_only(measure: object) -> None:
    assert callable(measure)
    assert (measure("", ""), measure("", "a"), measure("a", "")) == (1, 0, 0)


def test_the_likeness_is_the_score() -> None:
    asked = {"type": "similar", "to": "kitten", "min": 0.5}
    found = assessed(asked, said(" sitting\n"))
    assert found.status.value == "passed"
    assert found.score == pytest.approx(1 - 3 / 7)
    assert 'at least 0.5 like "kitten" by levenshtein, saw 0.571 in' in found.reason
    assert assessed(asked | {"min": 0.6}, said("sitting")).status.value == "failed"
    loud = assessed(asked | {"min": 1, "ignoreCase": True}, said("KITTEN"))
    assert loud.status.value == "passed"


@pytest.mark.parametrize("metric", ["levenshtein", "rouge-l", "bleu"])
def test_long_texts_cost_little_and_too_long_ones_are_no_failure(metric: str) -> None:
    asked = {"type": "similar", "to": "b a " * 5000, "min": 0.5, "metric": metric}
    begin = time.process_time()
    assert assessed(asked, said("a b " * 25_000)).status.value in {"passed", "failed"}
    assert time.process_time() - begin < 3
    assert assessed(asked, said("a" * 100_001)).status.value == "error"


def test_a_likeness_of_nothing_is_refused() -> None:
    asked = {"type": "similar", "to": "x", "min": 0}
    assert assessed(asked, said("x")).status.value == "error"


def test_only_a_run_pays_for_the_library() -> None:
    code = (
        "import sys; from gateval.assertions.registry import ASSERTIONS; list(ASSERTIONS.values());"
        "print('rapidfuzz' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
