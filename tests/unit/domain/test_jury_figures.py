"""What labels say of a jury: its own error, that of its jurors, and of a band of doubt."""

from __future__ import annotations

import random
from itertools import product
from math import sqrt

import pytest

from gateval.domain.calibration import (
    Binding,
    CalibrationReplay,
    JudgedExample,
    labels_wanted,
    why_not,
)
from gateval.domain.manifests.evaluation import Escalation, JudgeSpec, JuryRule
from gateval.domain.results.jury_figures import JuryFigures, jury_figures, jury_lines
from gateval.domain.trials.jury import Vote, vote_of

Row = tuple[bool, tuple[float, ...]]
"""What people say of an example, and the score of each juror."""

JURY = JudgeSpec(models=("x/a", "y/b", "z/c"))
LABELS = 1_000


def replayed(spec: JudgeSpec, rows: list[Row]) -> CalibrationReplay:
    binding = Binding(
        model=spec.named, temperature=0.0, panel=spec.terms, prompt="", rubric="", examples=""
    )
    examples = tuple(
        JudgedExample(
            number=number,
            human=float(human),
            score=vote_of(spec, [Vote(one >= 0.5, one) for one in scores]).score,
            jurors=scores,
        )
        for number, (human, scores) in enumerate(rows, 1)
    )
    return CalibrationReplay(calibration="tone", binding=binding, examples=examples)


def figures(spec: JudgeSpec, rows: list[Row]) -> JuryFigures:
    found = jury_figures(replayed(spec, rows))
    assert found is not None
    return found


@pytest.mark.parametrize("rule", [*JuryRule])
@pytest.mark.parametrize("seed", range(10))
def test_the_jurys_error_is_the_exact_one_whatever_its_jurors_have_in_common(
    seed: int, rule: JuryRule
) -> None:
    """Ten joint tables of label and three votes, drawn at random: of 16 cells, no two alike."""
    draw = random.Random(seed)
    cells = [*product((False, True), product((0.2, 0.9), repeat=3))]
    chances = [draw.random() ** 3 for _ in cells]
    spec = JURY.replace(rule=rule)
    wrong = [
        vote_of(spec, [Vote(one >= 0.5, one) for one in votes]).passed is not human
        for human, votes in cells
    ]
    exact = sum(p for p, errs in zip(chances, wrong, strict=True) if errs) / sum(chances)
    found = figures(spec, draw.choices(cells, chances, k=LABELS))
    assert found.jury.rate == pytest.approx(exact, abs=4 * sqrt(exact * (1 - exact) / LABELS))
    assert found.jury.low <= found.jury.rate <= found.jury.high


def errs(draw: random.Random, kind: float) -> tuple[bool, ...]:
    """The errors of three, a fifth each: by themselves (0), alike (1), or half of the time so."""
    if draw.random() < kind:
        return (draw.random() < 0.2,) * 3
    return tuple(draw.random() < 0.2 for _ in range(3))


@pytest.mark.parametrize(
    ("kind", "exact", "worth", "said"),
    [
        (0.0, 0.104, 3.0, "better than"),
        (0.5, 0.152, 1.5, "better than"),
        (1.0, 0.2, 1.0, "no better than one"),
    ],
)
def test_three_jurors_with_the_same_errors_are_no_better_than_one(
    kind: float, exact: float, worth: float, said: str
) -> None:
    draw = random.Random(7)
    rows: list[Row] = []
    for _ in range(4_000):
        human = draw.random() < 0.5
        rows.append((human, tuple(0.9 if human is not e else 0.2 for e in errs(draw, kind))))
    found = figures(JURY, rows)
    assert found.jury.rate == pytest.approx(exact, abs=0.025)
    assert found.worth == pytest.approx(worth, abs=0.2)
    assert found.compared.startswith(said)
    assert f": {said}" in jury_lines(found)[0]


def test_a_band_is_tried_on_labels_that_did_not_choose_it() -> None:
    """The first judge errs only from .4 to .6, where it scores half of all; the other never."""
    spec = JudgeSpec(model="x/a", escalate=Escalation(model="y/b", band=(0.4, 0.6)))
    draw, rows = random.Random(3), list[Row]()
    for number in range(200):
        human = draw.random() < 0.5
        doubt = number % 2 == 0
        first = draw.uniform(0.41, 0.59) if doubt else 0.95 if human else 0.05
        second = 0.9 if human else 0.1
        rows.append((human, (first, second)))
    found = figures(spec, rows).escalation
    assert found is not None
    assert (found.labels, found.asked) == (200, 100)
    assert found.best == (0.4, 0.6)
    assert (found.tried_wrong, found.tried_asked) == (0, 100)
    assert any("spares 50 %" in line for line in jury_lines(figures(spec, rows)))


def test_a_band_of_doubt_wants_a_hundred_labels() -> None:
    spec = JudgeSpec(model="x/a", escalate=Escalation(model="y/b", band=(0.4, 0.6)))
    assert (labels_wanted(JURY), labels_wanted(spec)) == (0, 100)
    rows: list[Row] = [
        (number % 2 == 0, (0.9 if number % 2 == 0 else 0.1,) * 2) for number in range(100)
    ]
    for many, why in (
        (99, "a band of doubt wants 100 labels, and it has verdicts on 99"),
        (100, ""),
    ):
        found = replayed(spec, rows[:many]).agreement
        assert why_not(found, labels=labels_wanted(spec)) == why


def test_one_judge_and_an_earlier_runs_counts_have_no_such_figures() -> None:
    one = replayed(JURY, [(True, (0.9, 0.9, 0.9))])
    assert jury_figures(one.replace(examples=(one.examples[0].replace(jurors=()),))) is None
    gap = one.examples[0].replace(jurors=(0.9, None, 0.9), score=None)
    assert jury_figures(one.replace(examples=(gap,))) is None
