"""What `check` found regressed on this machine: a line each, one for a comparison, the newest last.

A broken line is left out and counted. The file belongs to who runs the gate; it only adds reds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from gateval.domain.base import TIME_PATTERN, ascii_json
from gateval.domain.decision.report import Report
from gateval.domain.history.record import StoredRegression
from gateval.domain.history.standing import Known, Remembered, regressions_of, with_standing
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.sealing import kept_apart
from gateval.domain.text.strict_json import NotStrictJson, read_json

KEPT = 1_000
"""Findings that are kept; the oldest go first."""

BYTES_READ = 2 * 1024 * 1024
"""Of a larger file, its end is read; what we write is smaller."""

_NAMED = 10


class LocalFinding(StoredRegression):
    """A comparison that regressed, and when that was found."""

    version: Literal["finding.v1"] = "finding.v1"
    found_at: str = Field(pattern=TIME_PATTERN)


class LocalFindings(NamedTuple):
    """What a file holds; `broken` counts lines that are none of ours."""

    found: Sequence[LocalFinding]
    broken: int = 0

    @property
    def remembered(self) -> Remembered:
        """Return it by what was compared."""
        return Remembered(
            {
                one.key: Known(
                    (one.base_passes, one.base_trials),
                    (one.head_passes, one.head_trials),
                    one.found_at,
                    one.says,
                )
                for one in self.found
            }
        )


def read_findings(content: bytes) -> LocalFindings:
    """Read the content of a file, the newest finding of a comparison last and alone."""
    lines = [line for line in content.split(b"\n") if line]
    read = [one for line in lines if (one := _finding(line)) is not None]
    return LocalFindings(_newest(read), len(lines) - len(read))


def write_findings(found: Iterable[LocalFinding]) -> bytes:
    """Return the content of a file with the newest `KEPT` findings."""
    lines = [ascii_json(one.model_dump(mode="json")) for one in _newest(found)[-KEPT:]]
    return "".join(f"{line}\n" for line in lines).encode()


def new_findings(report: Report, found_at: str) -> tuple[LocalFinding, ...]:
    """Return what a report found regressed by itself, not by what stood before.

    Of sealed Evals nothing is kept here: the file is not encrypted.
    """
    apart = kept_apart(report.results.plan)
    standing = {
        (planned.name, one.fixture)
        for planned in report.results.plan.evals
        for one in planned.standing
    }
    return tuple(
        LocalFinding(**one.model_dump(), found_at=found_at)
        for one in regressions_of(report)
        if (one.eval, one.fixture) not in standing and one.eval not in apart
    )


def measured_anew(plan: Plan, found: Remembered) -> Plan:
    """Return the plan with a sentence on what would stand and does not count this time."""
    standing = [
        one.fixture for planned in with_standing(plan, found).evals for one in planned.standing
    ]
    names = list(dict.fromkeys(standing))
    if not names:
        said = "measured anew (--fresh); no earlier finding was known"
    else:
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        listed = ", ".join(names[:_NAMED])
        said = f"measured anew (--fresh), though an earlier run found regressed: {listed}{more}"
    return plan.model_copy(update={"fresh": said})


def _newest(found: Iterable[LocalFinding]) -> list[LocalFinding]:
    by_key = dict[str, LocalFinding]()
    for one in found:
        by_key.pop(one.key, None)
        by_key[one.key] = one
    return list(by_key.values())


def _finding(line: bytes) -> LocalFinding | None:
    try:
        return LocalFinding.model_validate(read_json(line.decode("ascii")))
    except (UnicodeDecodeError, NotStrictJson, ValidationError):
        return None
