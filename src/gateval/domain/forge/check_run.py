"""A check run: what GitHub shows beside a commit, and what branch protection asks for.

https://docs.github.com/en/rest/checks/runs

A stamp stands in the external id of a check run and in the hidden first line of the comment. It is
ours only together with its writer's identity: anybody can write the same text.

A check run also keeps what a run found: a memory that needs no `contents: write`. What regressed,
and under which policy a budget was used up, stands in its details once it is completed, where only
our own App can have written it. A finding is the digest of what was compared, and two counts: no
name. Those on sealed Evals are encrypted for the gate's own key, all in one text whose size tells
nothing of how many there are.

How much sealed files have given away: bits, counted by the gate's own check runs.

Each run that tells a verdict on a sealed Eval leaves one on the commit that sealed the file: a new
seal begins anew. It holds the month, the head, the bits and a digest of what was told, and counts
over all authors.

A head may be run again, and its agent may decide as it runs what it answers. So a run of a head
that was measured costs nothing only if it tells what the one before it told. Else it costs what a
new answer gives away, and when it came: log2 of (n + 1)(n + 2) for n earlier runs, a code for the
length of what was the same (the sum of 1 / (n + 1)(n + 2) over all n is 1).

GitHub keeps the newest thousand check runs of a name and deletes others, so each holds what was
given away before it, too.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from math import fsum, log2
from typing import Annotated, NamedTuple, Self

from pydantic import Field

from gateval.domain.base import Count, Positive, Sha, Value, digest
from gateval.domain.plan.plan import Plan
from gateval.domain.plan.planned_eval import PlannedEval
from gateval.domain.plan.sealing import is_open, kept_apart
from gateval.domain.results.results import SealedVerdict, bits_of
from gateval.domain.text import BORDER, END, MARKER, PARAGRAPHS, Label, Safe, markdown
from gateval.domain.verdicts import GateVerdict

ANNOTATIONS_AT_ONCE = 50
"""GitHub takes no more annotations in one request; those of an update are added to the others."""

TITLE_LIMIT = 255
"""Characters of a title."""

SUMMARY_LIMIT = 65_535
"""Characters of a check run's summary."""

MESSAGE_LIMIT = 64 * 1024
"""Bytes of an annotation's message."""


class CheckStatus(StrEnum):
    """How far a check run is. Others exist, which only GitHub Actions sets."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class Conclusion(StrEnum):
    """How a completed check run ended. GitHub lets `success`, `neutral` and `skipped` merge."""

    SUCCESS = "success"
    FAILURE = "failure"
    NEUTRAL = "neutral"
    ACTION_REQUIRED = "action_required"
    CANCELLED = "cancelled"


class AnnotationLevel(StrEnum):
    """How an annotation looks."""

    WARNING = "warning"
    FAILURE = "failure"


class Annotation(Value):
    """A note on a line of a file. `path` is relative to the repository root, lines from 1."""

    path: Label
    line: Positive
    level: AnnotationLevel
    title: Label
    message: Label


class CheckReport(Value):
    """The content of a check run. `conclusion` is set exactly when it is completed.

    `external_id` is ours to choose. `details_url` leads to the log; empty for none. `summary` is
    markdown of at most `SUMMARY_LIMIT` characters, and so is `text`, which stands below it; at most
    `ANNOTATIONS_AT_ONCE` annotations.
    """

    name: str
    external_id: str
    details_url: str = ""
    started_at: str
    conclusion: Conclusion | None = None
    title: Label
    summary: Safe
    text: str = ""
    annotations: tuple[Annotation, ...] = ()

    @property
    def status(self) -> CheckStatus:
        """In progress until there is a conclusion."""
        return CheckStatus.COMPLETED if self.conclusion else CheckStatus.IN_PROGRESS


class CheckRun(Value):
    """A check run as the forge has it. `app` is the slug of the App that made it.

    `completed` is false in every state before; `conclusion` is GitHub's word, empty until then.
    `summary` is what it says, `text` what stands below that, `annotations` how many it has.
    """

    number: Positive
    name: str
    head_sha: Sha
    external_id: str = ""
    app: str = ""
    completed: bool
    conclusion: str = ""
    url: str = ""
    summary: str = ""
    text: str = ""
    annotations: int = 0

    @property
    def evals(self) -> Safe:
        """What it shows of what the evals found; of one that is ours, for nobody else wrote it."""
        return Safe(self.summary.partition(BORDER)[2].partition(END)[0].strip())


MOST_FINDINGS = 200
"""Findings that one check run keeps."""

_DIGITS = 32
_KEY_DIGITS = 8
_MARK = rf"[0-9a-f]{{{_DIGITS}}}(?:@[0-9a-f]{{{_KEY_DIGITS}}})?"
_COUNTS = r"\d{1,4}/\d{1,4}"
_ONE = re.compile(rf"(?P<mark>{_MARK}):(?P<base>{_COUNTS}):(?P<head>{_COUNTS})")
_ALL = re.compile(
    r"<!-- gateval:findings v1 total=(?P<total>\d{1,9})(?: spent=(?P<spent>[0-9a-f]{64}))?"
    r"(?: kept=(?P<kept>[A-Za-z0-9+/=]{1,48000}))?"
    r"(?P<listed>[0-9a-f@:/ ]*) -->"
)

RunCount = Annotated[int, Field(ge=0, le=1000)]
Counted = Annotated[int, Field(ge=1, le=1000)]


class RegressionFinding(Value):
    """A comparison that regressed: `mark` says which, in digests (`marks`), and how it went."""

    mark: str = Field(pattern=rf"^{_MARK}$")
    base_passes: RunCount
    base_trials: Counted
    head_passes: RunCount
    head_trials: Counted

    @property
    def key_id(self) -> str:
        """Which key its mark was made with; empty for none."""
        return self.mark.partition("@")[2]

    def __str__(self) -> str:
        base = f"{self.base_passes}/{self.base_trials}"
        return f"{self.mark}:{base}:{self.head_passes}/{self.head_trials}"


class RunFindings(Value):
    """What one run found: `total` counts all, `listed` holds the first that have a mark.

    `spent` is the digest of the policy whose budget the run used up; empty if it used up none.
    `kept` are findings on sealed Evals, encrypted; empty where none was measured.
    """

    total: Count = 0
    spent: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    listed: tuple[RegressionFinding, ...] = Field(default=(), max_length=MOST_FINDINGS)
    kept: str = Field(default="", pattern=r"^[A-Za-z0-9+/=]*$", max_length=48_000)

    @property
    def whole(self) -> bool:
        """Whether every finding is listed."""
        return self.total <= len(self.listed)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` gives, in the first line; None for anything else, and for more than we
        write.
        """
        found = _ALL.fullmatch(text.strip().partition("\n")[0])
        if found is None:
            return None
        try:
            listed = tuple(map(_finding, found["listed"].split()))
            given = {"spent": found["spent"] or "", "kept": found["kept"] or ""}
            return cls(total=int(found["total"]), listed=listed, **given)
        except ValueError:
            return None

    def __str__(self) -> str:
        listed = "".join(f" {one}" for one in self.listed)
        spent = f" spent={self.spent}" if self.spent else ""
        kept = f" kept={self.kept}" if self.kept else ""
        return f"<!-- gateval:findings v1 total={self.total}{spent}{kept}{listed} -->"


def marks(key: str) -> tuple[str, ...]:
    """Return the mark of the comparison with this digest."""
    return (key[:_DIGITS],)


def earlier_marks(key: str, secrets: Sequence[str]) -> tuple[str, ...]:
    """Return the marks that earlier versions gave a sealed comparison: one for each secret."""
    return tuple(f"{_keyed(secret, key)[:_DIGITS]}@{key_id(secret)}" for secret in secrets)


def key_id(secret: str) -> str:
    """Return what tells keys apart and gives nothing of them away."""
    return _keyed(secret, "which key")[:_KEY_DIGITS]


def unknown_keys(listed: Iterable[RegressionFinding], secrets: Sequence[str]) -> bool:
    """Whether a finding was marked with a key that is not here."""
    known = {"", *map(key_id, secrets)}
    return any(one.key_id not in known for one in listed)


def _keyed(secret: str, text: str) -> str:
    about = f"gateval finding {text}".encode()
    return hmac.new(secret.encode(), about, hashlib.sha256).hexdigest()


def _finding(written: str) -> RegressionFinding:
    found = _ONE.fullmatch(written)
    if found is None:
        raise ValueError("no finding")
    (base_passes, base_trials), (head_passes, head_trials) = (
        map(int, found[side].split("/")) for side in ("base", "head")
    )
    return RegressionFinding(
        mark=found["mark"],
        base_passes=base_passes,
        base_trials=base_trials,
        head_passes=head_passes,
        head_trials=head_trials,
    )


CONCLUSIONS = {
    GateVerdict.PASS: Conclusion.SUCCESS,
    GateVerdict.FAIL: Conclusion.FAILURE,
    GateVerdict.INCOMPLETE: Conclusion.ACTION_REQUIRED,
    GateVerdict.INCONCLUSIVE: Conclusion.ACTION_REQUIRED,
    GateVerdict.BYPASSED: Conclusion.NEUTRAL,
}
"""Only what GitHub does not count as success may stand for a gate that could not look. `failure` is
kept for what was measured; `action_required` says that somebody has to do something before there
is a verdict: run it again, provide a key, have a maintainer start the trusted run.
"""


def conclude(verdict: GateVerdict, *, unverified: bool) -> Conclusion:
    """Return the conclusion; what nobody verified is a claim, and never a success."""
    return Conclusion.ACTION_REQUIRED if unverified else CONCLUSIONS[verdict]


class Announcement(Value):
    """Texts and values for every sink; every text is sanitised and below its limit.

    `comment` begins with `stamp.MARKER`. `unasked` says that nobody needs to hear it who has not
    heard of the gate on this pull request before: nothing was to be evaluated. `record` is the
    digest of the stored verdict that the check run confirms, empty for none; `findings` is what the
    check run remembers of it, None where nothing was decided.
    """

    conclusion: Conclusion
    title: Label
    check_summary: Safe
    comment: Safe
    job_summary: Safe
    annotations: tuple[Annotation, ...] = ()
    unasked: bool = False
    record: str = ""
    findings: RunFindings | None = None

    def below(self, heading: Safe) -> Announcement:
        """Return it with a heading above what check run and summary say."""
        return self.replace(
            check_summary=PARAGRAPHS.joined([heading, self.check_summary]),
            job_summary=PARAGRAPHS.joined([heading, self.job_summary]),
        )

    @property
    def passes(self) -> bool:
        """Whether it is a plain pass; a bypass is none, and has to be seen."""
        return self.conclusion is Conclusion.SUCCESS


GATE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"

_ID = re.compile(
    r"gateval/(?P<gate>[\w.-]{1,60})/(?P<started>[0-9TZ:-]{20})/(?P<run>\d{1,18})\.(?P<attempt>\d{1,6})"
    r"(?:/(?P<record>[0-9a-f]{64}))?"
    r"(?:/c(?P<comment>[1-9]\d{0,17})(?:\.[0-9a-f]{16})?)?"
)
_MARKED = re.compile(rf"<!-- gateval:comment v1 (?P<id>{_ID.pattern}) head=(?P<head>[0-9a-f]+) -->")


class CommentMode(StrEnum):
    """When a comment is written. One that is already there is kept up to date by the first two."""

    ALWAYS = "always"
    ON_FAILURE = "on-failure"
    OFF = "off"


class Stamp(Value):
    """One attempt of one workflow run, for one gate.

    `gate` tells several gates of a repository apart. `started` is when the attempt began, in UTC as
    ISO 8601 to the second: a run that began later has seen the newer state of the world, also when
    it is the second attempt of a run with a lower id. `record` is the digest of the stored verdict
    that a completed check run confirms, empty for none. `comment` is the number of our comment, 0
    for none: nobody but its App may change a check run, and whoever may edit comments can take the
    marker out of ours, or put another one in.
    """

    gate: str = Field(default="gateval", pattern=GATE_PATTERN)
    started: str = Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
    run: Count
    attempt: Count
    record: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    comment: Count = 0

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` gives; None for anything else."""
        found = _ID.fullmatch(text)
        try:
            given = found.groupdict() if found else {}
            return cls.model_validate({k: v for k, v in given.items() if v}) if found else None
        except ValueError:
            return None

    def __str__(self) -> str:
        record = f"/{self.record}" if self.record else ""
        known = f"/c{self.comment}" if self.comment else ""
        return f"gateval/{self.gate}/{self.started}/{self.run}.{self.attempt}{record}{known}"

    def same_run(self, other: Stamp) -> bool:
        """Whether both are of the same attempt, whatever its steps took for their beginning."""
        return (self.gate, self.run, self.attempt) == (other.gate, other.run, other.attempt)

    def newer_than(self, other: Stamp) -> bool:
        """Whether this attempt began after the other one."""
        mine = (self.started, self.run, self.attempt)
        return not self.same_run(other) and mine > (other.started, other.run, other.attempt)


class MarkedComment(Value):
    """The first line of one of our comments: who wrote it, and about which commit."""

    stamp: Stamp
    head: Sha


def unmarked(body: Safe) -> Safe:
    """Return a comment without `MARKER`."""
    return Safe(body.removeprefix(MARKER).lstrip("\n"))


def mark(body: Safe, marked: MarkedComment) -> Safe:
    """Return a comment with its first line in the place of `MARKER`."""
    line = Safe(f"<!-- gateval:comment v1 {marked.stamp} head={marked.head} -->")
    return markdown("{}\n{}", line, unmarked(body))


def read_mark(body: str) -> MarkedComment | None:
    """Read the first line of a comment; None when it is none of ours."""
    found = _MARKED.fullmatch(body.split("\n", 1)[0].rstrip("\r"))
    stamp = Stamp.parse(found["id"]) if found else None
    if found is None or stamp is None:
        return None
    try:
        return MarkedComment(stamp=stamp, head=found["head"])
    except ValueError:
        return None


_WARNED = 0.8
_OVER = 2.0

_ONE_SEAL = re.compile(
    r"<!-- gateval:bits v1 month=(?P<month>\d{4}-\d\d) head=(?P<head>[0-9a-f]{40,64}) "
    r"bits=(?P<bits>\d{1,9}(?:\.\d{1,2})?)(?: before=(?P<before>\d{1,9}(?:\.\d{1,2})?))?"
    r"(?: told=(?P<told>[0-9a-f]{32}))? -->"
)


class Room(IntEnum):
    """How much may still be told: all, all and a warning, verdicts alone, nothing."""

    FREE = 0
    WARNED = 1
    VERDICTS = 2
    NONE = 3


class GivenBits(Value):
    """What one run gave away: `month` as in 2026-11. `before` is what others gave away in it until
    then. `told` is the digest of what it told (`told`), empty as long as it has told nothing.
    """

    month: str = Field(pattern=r"^\d{4}-\d\d$")
    head: Sha
    bits: float = Field(ge=0, allow_inf_nan=False)
    before: float = Field(default=0, ge=0, allow_inf_nan=False)
    told: str = Field(default="", pattern=r"^([0-9a-f]{32})?$")

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read what `str` gives; None for anything else."""
        found = _ONE_SEAL.fullmatch(text.strip())
        if found is None:
            return None
        read = {name: text for name, text in found.groupdict().items() if text is not None}
        bits = {name: float(read[name]) for name in ("bits", "before") if name in read}
        return cls.model_validate({**read, **bits})

    def __str__(self) -> str:
        said = f"month={self.month} head={self.head} bits={self.bits:.2f} before={self.before:.2f}"
        return f"<!-- gateval:bits v1 {said}{f' told={self.told}' if self.told else ''} -->"


class HeadOnSeal(NamedTuple):
    """How often a head was measured before, and what was told of it last; empty for nothing."""

    runs: int = 0
    told: str = ""

    def price(self, bits: float) -> float:
        """Return what a run of this head costs that tells something else than the last one."""
        return bits + log2((self.runs + 1) * (self.runs + 2)) if self.runs else bits


def head_on_seal(head: str, entries: Iterable[GivenBits]) -> HeadOnSeal:
    """Return what is known of a head by the entries on a seal, newest first."""
    mine = [one for one in entries if one.head == head]
    return HeadOnSeal(len(mine), next((one.told for one in mine if one.told), ""))


def given_in(month: str, entries: Iterable[GivenBits]) -> float:
    """Return the bits that were given away in a month, by all entries that are left of it."""
    mine = [one for one in entries if one.month == month]
    return max([fsum(one.bits for one in mine), *(one.before + one.bits for one in mine)])


def room(given: float, limit: int) -> Room:
    """Return what may still be told, where so many bits of so many a month are given away."""
    if given >= limit * _OVER:
        return Room.NONE
    if given >= limit:
        return Room.VERDICTS
    return Room.WARNED if given >= limit * _WARNED else Room.FREE


def seals_of(plan: Plan) -> dict[str, tuple[PlannedEval, ...]]:
    """Return the files that what runs sealed comes from, each with the Evals that tell of it.

    A sealed Eval of several files gives the same away of each of them.
    """
    apart, found = kept_apart(plan), dict[str, tuple[PlannedEval, ...]]()
    for one in plan.evals:
        if one.name not in apart or not is_open(one):
            continue
        for path in {one.place.file, *(fixture.path for fixture in one.fixtures)} - {""}:
            found[path] = (*found.get(path, ()), one)
    return found


def most_bits(evals: Iterable[PlannedEval], *, rates: bool) -> float:
    """Return how much a run may give away of a file by these Evals."""
    return fsum(bits_of(fixtures=len(one.fixtures), rates=rates) for one in evals)


def told(evals: Iterable[PlannedEval], verdicts: Iterable[SealedVerdict]) -> str:
    """Return the digest of what is told of these Evals."""
    names = {one.name for one in evals}
    mine = [one for one in verdicts if one.eval in names]
    return digest([[one.eval, one.verdict, one.accepted, one.rate] for one in mine])[:_SEAL_DIGITS]


_SEAL_DIGITS = 32
