"""`gateval get evals` where a thousand runs of 200 fixtures are kept, beside one where none is."""

from __future__ import annotations

from benchmarks.figures import Figure, median
from benchmarks.manifests import agent_name
from benchmarks.many_cases import files
from benchmarks.processes import GATEVAL, IMPORT_PYDANTIC, interleaved, sample
from benchmarks.repository import repository
from benchmarks.scale import Scale
from gateval.domain.history.run_record import RunEval, RunFixture, RunRecord, record_line
from gateval.domain.verdicts import GateVerdict

NAME = "looking_back"
SECONDS_BAR = 0.5
FIXTURES = 200


def record(number: int) -> bytes:
    """A kept run in which all fixtures passed three times."""
    fixtures = tuple(
        RunFixture(fixture=f"fixture-{n:03}", digest="d" * 20, trials="ppp")
        for n in range(FIXTURES)
    )
    ran = RunEval.model_validate(
        {
            "eval": "cases-eval", "agent": agent_name(0), "closure": "c" * 64, "setting": "e" * 64,
            "verdict": "pass", "low": 1, "high": 1, "passing": FIXTURES, "total": FIXTURES,
            "fixtures": fixtures,
        }
    )  # fmt: skip
    return record_line(
        RunRecord(
            id=f"{number}-1",
            event="push",
            at=f"2026-11-20T{number // 60 % 24:02}:{number % 60:02}:00Z",
            run=number,
            commit=f"{number:040x}",
            verdict=GateVerdict.PASS,
            evals=(ran,),
        )
    )


def measure(scale: Scale) -> list[Figure]:
    """Measure and return the figures."""
    known = repository(scale.cache, files(1), {"none.txt": "no change\n"})
    copy = known / ".git" / "gateval" / "runs.jsonl"
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(b"".join(record(number) for number in range(scale.kept_runs)))
    asked, imported = interleaved(
        scale.rounds,
        lambda: sample((*GATEVAL, "get", "evals", "-o", "json"), known),
        lambda: sample(IMPORT_PYDANTIC, known),
    )
    copy.unlink()
    took, theirs = (median(each.wall for each in taken) for taken in (asked, imported))
    return [
        Figure(NAME, f"get, {scale.kept_runs} runs", took, "s", SECONDS_BAR),
        Figure(NAME, "get / pydantic", took / theirs, "×"),
    ]
