"""Lines of parts that are alike are read by what is known of them, and never otherwise."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gateval.adapters.parts import LinesOfPart
from gateval.app.run.trial_lines import TrialLines
from gateval.domain.trials.model_call import CallsMade, Usage
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import (
    Assessed,
    AssessmentStatus,
    Cause,
    NotAssessed,
    Outcome,
    Side,
    Trial,
    TrialKey,
)
from gateval.render.stage import trial_json

KEY = TrialKey("e", "f", Side.HEAD, 1)
ASKED = Step(number=1, kind=StepKind.USER, text='Where, "seconds":0.5, is it?')
CALLED = Step(
    number=2, kind=StepKind.TOOL_CALL, tool="find", arguments={"trace": {"steps": []}, "a": [1.5]}
)
SAID = Step(number=3, kind=StepKind.ASSISTANT, text="Here: ü\n", seconds=0.343)
PASSED = Assessed(type="contains", status=AssessmentStatus.PASSED, score=1.0, reason='Saw "it".')
TRIAL = Trial(
    key=KEY,
    outcome=Outcome.PASS,
    assessments=(PASSED, PASSED.replace(index=1, steps=(3,))),
    score=1.0,
    output='Here: ü\n,"output_truncated":false,"trace":{"steps":',
    trace=Trace(steps=(ASKED, CALLED, SAID), models=("p/m",), usage=Usage(input_tokens=3)),
    calls=CallsMade(made=1, answered=1, said='],"source":'),
    usage=Usage(input_tokens=3),
    seconds=0.3435014200003934,
)
LOST = NotAssessed(type="contains", cause=Cause.JUDGE, reason="Down.")
KINDS = {
    "as it was": TRIAL,
    "another key": TRIAL.replace(key=TrialKey("e2", "g-1", Side.BASE, 12)),
    "another output": TRIAL.replace(output="Nothing."),
    "no output": TRIAL.replace(output=None),
    "other steps": TRIAL.replace(trace=TRIAL.trace and TRIAL.trace.replace(steps=(SAID, ASKED))),
    "no steps": TRIAL.replace(trace=TRIAL.trace and TRIAL.trace.replace(steps=())),
    "steps that look like an end": TRIAL.replace(
        trace=TRIAL.trace
        and TRIAL.trace.replace(steps=(CALLED.replace(arguments={"b": [], "source": "gate"}),))
    ),
    "no trace": TRIAL.replace(trace=None),
    "quick": TRIAL.replace(seconds=0.000012),
    "at once": TRIAL.replace(seconds=0.0),
    "endless": TRIAL.replace(seconds=1e30),
    "failed": TRIAL.replace(outcome=Outcome.FAIL, score=0.5, reason="No."),
    "an error": TRIAL.replace(assessments=(LOST,), score=None, cause=Cause.JUDGE),
    "nothing assessed": TRIAL.replace(assessments=()),
    "a name with an umlaut": TRIAL.replace(key=TrialKey("ü", 'a"b', Side.BASE, 1)),
}


def line(trial: Trial) -> bytes:
    return trial_json(trial).encode()


def known() -> TrialLines:
    """A reader that has seen one of each kind."""
    reader = TrialLines()
    for one in KINDS.values():
        assert reader.read(LinesOfPart(Path()), line(one), 0) is not None
    return reader


def read(reader: TrialLines, text: bytes, folder: Path) -> Trial | None:
    """Read a line of a file, and its steps from there."""
    (folder / "part").write_bytes(text + b"\n")
    found = reader.read(LinesOfPart(folder / "part"), text, 0)
    if found and found.trace:
        assert trial_json(found).encode() == text
        return found.replace(trace=found.trace.replace(steps=tuple(found.trace.steps)))
    return found


@pytest.mark.parametrize("name", KINDS)
def test_a_line_like_others_is_the_trial_that_it_is_alone(name: str, tmp_path: Path) -> None:
    assert read(known(), line(KINDS[name]), tmp_path) == KINDS[name]


FORGED = (
    ('"repetition":1}', '"repetition":01}'),
    ('"repetition":1}', '"repetition":-1}'),
    ('"repetition":1}', '"repetition":1,"repetition":2}'),
    ('"side":"head"', '"side":"tail"'),
    ('"side":"head"', '"side": "head"'),
    ('"eval":"e"', '"eval":"\\u0065"'),
    ('"outcome":"pass"', '"outcome":"fail","outcome":"pass"'),
    ('"output":"Here', '"output":"\\u0048ere'),
    ('"output":"Here', '"output":"","output":"Here'),
    ('"output":"Here', '"output":7,"output":"Here'),
    ('"number":1,', '"number":1.0,'),
    ('"number":1,', '"number":0,'),
    ('"number":1,', '"number":1,"number":1,'),
    ('"number":1,', '"number":1,"other":1,'),
    ('"a":[1.5]', '"a":[1.50]'),
    ('"a":[1.5]', '"a":[1.5],"a":[1.5]'),
    ('"a":[1.5]', '"a":[NaN]'),
    ('"a":[1.5]', f'"a":[{"[" * 120}{"]" * 120}]'),
    ('],"source"', ',],"source"'),
    ('],"source"', '],"source":"gate","steps":[],"source"'),
    ('],"source"', '],"steps":[],"source"'),
    ('"seconds":0.3435014200003934', '"seconds":0.34350142000039340'),
    ('"seconds":0.3435014200003934', '"seconds":0.34350142000039341'),
    ('"seconds":0.3435014200003934', '"seconds":3435014200003934e-16'),
    ('"seconds":0.3435014200003934', '"seconds":-0.3435014200003934'),
    ('"seconds":0.3435014200003934', '"seconds":1'),
    ('"seconds":0.3435014200003934', '"seconds":0.5,"seconds":0.3435014200003934'),
    ('"seconds":0.3435014200003934', '"seconds":0.5,"assessments":[],"seconds":0.343501'),
    ('"score":1.0,"output"', '"score":1.0,"assessments":[],"output"'),
    ("}]}", "}]} "),
    ("}]}", '}],"lost_usage":{}}'),
)


@pytest.mark.parametrize(("text", "forged"), FORGED)
def test_a_line_that_is_written_otherwise_is_none(text: str, forged: str, tmp_path: Path) -> None:
    there = line(TRIAL).decode()
    assert text in there
    changed = there.replace(text, forged, 1).encode()
    assert read(TrialLines(), changed, tmp_path) is None
    assert read(known(), changed, tmp_path) is None


def test_whoever_has_seen_others_reads_a_changed_line_as_one_who_has_not(tmp_path: Path) -> None:
    draw, lines = random.Random(5), [line(one) for one in KINDS.values()]
    taken = 0
    for _ in range(600):
        text = draw.choice(lines)
        at, size = draw.randrange(len(text)), draw.choice((0, 0, 1, 1, 5, 40))
        other = draw.choice(lines)
        begin = draw.randrange(len(other))
        put = draw.choice((b"", b"0", b"1", b",", b'"', other[begin : begin + draw.randrange(40)]))
        changed = text[:at] + put + text[at + size :]
        alone = read(TrialLines(), changed, tmp_path)
        assert read(known(), changed, tmp_path) == alone, changed
        taken += alone is not None
    assert 30 < taken < 500
