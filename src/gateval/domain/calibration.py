"""Calibrations of judges: what a replay measured, what it belongs to, and whether the judge's
word counts.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from gateval.domain.base import Count, Digest, JsonObject, Name, Positive, Share, Value, digest
from gateval.domain.injection import Injections
from gateval.domain.manifests.evaluation import Calibration, JudgeSpec, ScriptedModel
from gateval.domain.manifests.gate_config import AgreementPolicy
from gateval.domain.statistics.walk import Confusion, agreement, kappa, kappa_interval
from gateval.domain.statistics.watching import Consistency, sums_of, too_many
from gateval.domain.text import NOT_MEASURED
from gateval.domain.trials.model_call import Usage


class Binding(Value):
    """The judge and the examples of a replay; the others of its texts are SHA-256.

    `model` is what the judge is called, `panel` how it decides where it is several models. `prompt`
    is that of Gateval's own words to judges, `script` that of a scripted judge's rules, `attacks`
    that of what it was attacked with, empty where it was not. Of an example, the person's reason
    does not count: no judge sees it.
    """

    model: str
    temperature: float
    panel: JsonObject | None = Field(default=None, exclude_if=operator.not_)
    prompt: str
    rubric: str
    examples: str
    script: str = ""
    attacks: str = Field(default="", exclude_if=operator.not_)

    @property
    def judge(self) -> JudgeSpec:
        """The judge that was measured."""
        if self.panel is not None:
            return JudgeSpec.model_validate(self.panel)
        return JudgeSpec(model=self.model, temperature=self.temperature)

    @property
    def digest(self) -> str:
        """The digest of all of it: equal digests, equal questions to the same judge."""
        return digest(self.model_dump(mode="json"))


def binding_of(
    calibration: Calibration, spec: JudgeSpec, *, prompt: str, script: str = "", attacks: str = ""
) -> Binding:
    """Return what a replay of `calibration` by this judge is bound to.

    `prompt` is the digest of the prompt, `script` what `script_of` says, `attacks` the digest of
    the attacks.
    """
    examples = [one.asked for one in calibration.examples]
    return Binding(
        model=spec.named,
        temperature=spec.temperature,
        panel=spec.terms if spec.is_panel else None,
        prompt=prompt,
        rubric=digest(calibration.rubric),
        examples=digest([*examples]),
        script=script,
        attacks=attacks,
    )


def script_of(judge: JudgeSpec, scripts: Mapping[str, ScriptedModel]) -> str:
    """Return the digest of the rules of a judge's scripted models; empty where it has none."""
    found = [scripts[name].digest for name in judge.scripts if name in scripts]
    if len(found) < 2:
        return found[0] if found else ""
    return digest([*found])


CUT = 0.5
"""A score of at least this is a pass, a person's as well as a judge's."""

MISSING_SHARE = 0.2
"""The largest part of the examples that a judge may leave without a verdict."""


class CalibrationPhase(StrEnum):
    """How a calibration stands: it agrees enough, it does not (any more), or nothing was scored."""

    CALIBRATED = "Calibrated"
    STALE = "Stale"
    FAILED = "Failed"


class JudgedExample(Value):
    """What a judge said of one example, counted from 1.

    `human` and `score` are in [0, 1]; `score` is None where the judge gave no verdict, and `error`
    says why. `label` is the person's reason, `summary` the judge's. Of several judges `jurors` are
    the scores that each gave at first, in the order of `JudgeSpec.asked`; `split` is as in a
    `Verdict`.
    """

    number: Positive
    human: Share
    label: str = ""
    trace_ref: str = ""
    score: Share | None = None
    summary: str = ""
    error: str = ""
    jurors: tuple[Share | None, ...] = Field(default=(), exclude_if=operator.not_)
    split: bool = Field(default=False, exclude_if=operator.not_)
    undetermined: bool = Field(default=False, exclude_if=operator.not_)

    @property
    def is_right(self) -> bool:
        """Whether the judge gave a verdict, and passes what the person passes."""
        return self.score is not None and not self.disagrees

    @property
    def disagrees(self) -> bool:
        """Whether the judge passes what the person fails, or the other way round."""
        return self.score is not None and (self.score >= CUT) is not (self.human >= CUT)


class Agreement(Value):
    """How far a judge agrees with people, from the four counts of its table.

    `missing` examples got no verdict, and are not in the table. Of those, the judge said of
    `undetermined` that they do not show what it is asked.
    """

    true_pass: Count = 0
    false_pass: Count = 0
    false_fail: Count = 0
    true_fail: Count = 0
    missing: Count = 0
    undetermined: Count = Field(default=0, exclude_if=operator.not_)

    @property
    def table(self) -> Confusion:
        """The counts."""
        return Confusion(self.true_pass, self.false_pass, self.false_fail, self.true_fail)

    @property
    def scored(self) -> int:
        """How many examples the judge scored."""
        return self.true_pass + self.false_pass + self.false_fail + self.true_fail

    @property
    def kappa(self) -> float:
        """Cohen's kappa in [-1, 1]; 0 where it is not defined."""
        return kappa(self.table)

    @property
    def interval(self) -> tuple[float, float]:
        """Limits of about 95 % for kappa."""
        return kappa_interval(self.table)

    @property
    def raw(self) -> float:
        """The share in [0, 1] of scored examples on which judge and person agree."""
        return agreement(self.table)

    @property
    def prevalence(self) -> float | None:
        """The share in [0, 1] of scored examples that the person passes; None without any."""
        return self.table.passes / self.scored if self.scored else None

    @property
    def sensitivity(self) -> float | None:
        """The share in [0, 1] of the person's passes that the judge passes; None without any."""
        return self.true_pass / self.table.passes if self.table.passes else None

    @property
    def specificity(self) -> float | None:
        """The share in [0, 1] of the person's fails that the judge fails; None without any."""
        return self.true_fail / self.table.fails if self.table.fails else None

    @property
    def baseline(self) -> float | None:
        """The raw agreement of a judge that always says what most people say; None without any."""
        return max(self.table.passes, self.table.fails) / self.scored if self.scored else None

    @property
    def one_sided(self) -> bool:
        """Whether all scored examples have the same label, so that kappa can show nothing."""
        return bool(self.scored) and not (self.table.passes and self.table.fails)

    @property
    def too_few_scored(self) -> bool:
        """Whether more examples lack a verdict than may."""
        return self.missing > MISSING_SHARE * (self.scored + self.missing)


class ModelVersion(Value):
    """A version that a judge's model answered as, and the fingerprints that came with it."""

    model: str
    version: str
    fingerprints: tuple[str, ...] = ()


def unmeasured_versions(
    seen: Iterable[ModelVersion], measured: Collection[ModelVersion]
) -> tuple[ModelVersion, ...]:
    """Return what was `seen` of the models that were `measured`, in a version that was not.

    A pinned model has several fingerprints, so a new one alone is no new version.
    """
    known: dict[str, set[str]] = {}
    for one in measured:
        known.setdefault(one.model, set()).add(one.version)
    return tuple(one for one in seen if one.version not in known.get(one.model, {one.version}))


FINGERPRINTS = 20
"""Fingerprints kept of one version of a model."""


def new_fingerprints(
    seen: Iterable[ModelVersion], measured: Collection[ModelVersion]
) -> tuple[ModelVersion, ...]:
    """Return what was `seen` of the versions that were `measured`, under fingerprints that no run
    has met. A version none of whose fingerprints is known, or too many, has no new one.
    """
    known = {(one.model, one.version): one.fingerprints for one in measured}
    return tuple(
        one
        for one in seen
        if 0 < len(prints := known.get((one.model, one.version), ())) < FINGERPRINTS
        and not set(one.fingerprints) <= {*prints}
    )


def with_fingerprints(
    measured: Iterable[ModelVersion], seen: Iterable[ModelVersion]
) -> tuple[ModelVersion, ...]:
    """Return the versions that were measured, with their fingerprints that were seen since."""
    met = {(one.model, one.version): one.fingerprints for one in seen}
    return tuple(
        one.replace(
            fingerprints=tuple(
                sorted({*one.fingerprints, *met.get((one.model, one.version), ())})[:FINGERPRINTS]
            )
        )
        for one in measured
    )


CANARIES = 10
"""Examples that a judge is asked about in a run that relies on a stored agreement."""

RETESTS = 50
"""Questions, at least, that its consistency is measured with."""


class Retest(Value):
    """What a judge said when it was asked again about the examples that it was right about.

    It was right `right` times of `asked`. `steady` are the examples that it was right about each
    time, by number; `injected` the bad one of which it said so as well when its answer told the
    judge to pass it, None without such a one.
    """

    asked: Count
    right: Count
    steady: tuple[Positive, ...] = ()
    injected: Positive | None = None

    @property
    def known(self) -> Consistency:
        """What is known of the judge's consistency."""
        return Consistency(self.right, self.asked)


class Watch(Value):
    """What the canaries of a run say of a judge: of `asked`, it was wrong about the examples
    `wrong`. `total` is their CUSUM since the agreement was measured; `fallen`: it is not believed.
    """

    asked: Count
    wrong: tuple[Positive, ...] = ()
    total: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    fallen: bool = False


def watched(
    retest: Retest,
    asked: int,
    wrong: Sequence[int],
    before: float,
    judges: int,
    first: Watch | None = None,
) -> Watch:
    """Return what follows from a run's canaries; `before` is the CUSUM of the runs before it, and
    `judges` how many are watched in this run.

    `first` is what followed from those that were asked at first, where these are more: they are no
    part of the CUSUM, which takes as many of each run.
    """
    if first is not None:
        wrong, looked = (*first.wrong, *wrong), first.asked
        asked += looked
        alone = asked > looked and len(wrong) >= too_many(retest.known, asked, judges, [looked])
        fallen = first.fallen or alone
        return first.replace(asked=asked, wrong=tuple(sorted(wrong)), fallen=fallen)
    sums = sums_of(retest.known, CANARIES, judges)
    total = sums.after(before, len(wrong), asked / CANARIES)
    alone = bool(asked) and len(wrong) >= too_many(retest.known, asked, judges)
    fallen = alone or total >= sums.limit
    return Watch(asked=asked, wrong=tuple(sorted(wrong)), total=total, fallen=fallen)


class StoredWatch(Value):
    """What a run keeps of the canaries of a judge, by the digest of its agreement's binding.

    `versions` are those of the agreement, with all fingerprints that were met since.
    """

    binding: Digest
    total: float = Field(ge=0, allow_inf_nan=False)
    fallen: bool = False
    versions: tuple[ModelVersion, ...] = Field(default=(), exclude_if=operator.not_)


class StoredAgreement(Value):
    """What a run keeps of a replay. `versions` are those that answered; none of earlier records."""

    calibration: Name
    binding: Binding
    counts: Agreement
    versions: tuple[ModelVersion, ...] = Field(default=(), exclude_if=operator.not_)
    retest: Retest | None = Field(default=None, exclude_if=operator.not_)
    injections: Injections | None = Field(default=None, exclude_if=operator.not_)


class CalibrationReplay(Value):
    """A JudgeCalibration replayed by one judge.

    One that an earlier run made has no `examples` but its `counts`; `run` names that run. `retest`
    is what the judge said when it was asked again, None where it was not. `before` is the CUSUM of
    its canaries in earlier runs, `watch` what those of this run say, None where there were none.
    `injections` is what came of attacks on it, None where there were none.
    """

    version: Literal["calibration.v1"] = "calibration.v1"
    calibration: Name
    binding: Binding
    examples: tuple[JudgedExample, ...] = ()
    usage: Usage = Usage()
    counts: Agreement | None = None
    run: str = ""
    versions: tuple[ModelVersion, ...] = Field(default=(), exclude_if=operator.not_)
    retest: Retest | None = Field(default=None, exclude_if=operator.not_)
    before: float = Field(default=0.0, ge=0, allow_inf_nan=False, exclude_if=operator.not_)
    watch: Watch | None = Field(default=None, exclude_if=operator.not_)
    injections: Injections | None = Field(default=None, exclude_if=operator.not_)

    @property
    def can_be_watched(self) -> bool:
        """Whether there are examples to watch its judge by, without which nobody relies on it."""
        return self.retest is not None and bool(self.retest.steady)

    @property
    def is_of_this_run(self) -> bool:
        """Whether a job of this run measured or watched its judge, and not an earlier run."""
        return bool(self.examples) or self.watch is not None

    @model_validator(mode="after")
    def _examples_or_counts(self) -> Self:
        if bool(self.examples) is (self.counts is not None):
            raise ValueError("a replay has examples, or counts that an earlier run made")
        return self

    @cached_property
    def agreement(self) -> Agreement:
        """How far the judge agrees."""
        if self.counts is not None:
            return self.counts
        scored = [one for one in self.examples if one.score is not None]
        cells = [(one.score is not None and one.score >= CUT, one.human >= CUT) for one in scored]
        return Agreement(
            true_pass=cells.count((True, True)),
            false_pass=cells.count((True, False)),
            false_fail=cells.count((False, True)),
            true_fail=cells.count((False, False)),
            missing=len(self.examples) - len(scored),
            undetermined=sum(one.undetermined for one in self.examples),
        )

    @property
    def disagreements(self) -> tuple[JudgedExample, ...]:
        """The examples on which judge and person disagree, those first on which they do most."""
        found = [one for one in self.examples if one.disagrees]
        return tuple(sorted(found, key=lambda one: -abs((one.score or 0) - one.human)))


BAND_LABELS = 100
"""Labels without which nothing says whether a stronger judge mends what the first doubts."""


def labels_wanted(judge: JudgeSpec) -> int:
    """Return how many labels the word of this judge wants, whatever its agreement."""
    return BAND_LABELS if judge.escalate is not None else 0


LEAST_AGREEMENT = 0.6
"""What is asked of a judge that has a calibration and no `minAgreement`."""


def phase_of(
    found: Agreement,
    least: float = LEAST_AGREEMENT,
    estimate: AgreementPolicy = AgreementPolicy.POINT,
    *,
    changed: bool = False,
    labels: int = 0,
) -> CalibrationPhase:
    """Return the phase of an agreement; `changed` says that it was measured under other terms,
    `labels` how many the judge wants.
    """
    if not found.scored:
        return CalibrationPhase.FAILED
    stale = changed or why_not(found, least, estimate, labels)
    return CalibrationPhase.STALE if stale else CalibrationPhase.CALIBRATED


def why_not(
    found: Agreement,
    least: float = LEAST_AGREEMENT,
    estimate: AgreementPolicy = AgreementPolicy.POINT,
    labels: int = 0,
) -> str:
    """Return why a judge is not calibrated, as the end of a sentence; empty if it is.

    `least` is the kappa that is asked, `estimate` says which figure has to reach it, and `labels`
    how many examples it wants.
    """
    if not found.scored:
        return f"it gave a verdict on none of its {found.missing} examples"
    total = found.scored + found.missing
    if found.scored < labels:
        return f"a band of doubt wants {labels} labels, and it has verdicts on {found.scored}"
    if found.too_few_scored:
        return f"it gave no verdict on {found.missing} of its {total} examples"
    if found.one_sided:
        word = "pass" if found.table.passes else "fail"
        return f"people {word} every example of it, so it cannot show that it tells good from bad"
    counted = found.kappa if estimate is AgreementPolicy.POINT else found.interval[0]
    if counted >= least:
        return ""
    what = f"its agreement with people is {show_agreement(found)}"
    if estimate is AgreementPolicy.LOWER_BOUND:
        return f"{what}, and the lower limit is below {least:g}"
    return f"{what}, below {least:g}"


def show_kappa(found: Agreement) -> str:
    """Return kappa to two digits; no figure for a judge that gave no verdict."""
    return f"{found.kappa:.2f}" if found.scored else NOT_MEASURED


def show_agreement(found: Agreement) -> str:
    """Return e.g. `κ 0.42 (95 % 0.05 to 0.79, 20 examples)`."""
    low, high = found.interval
    noun = "example" if found.scored == 1 else "examples"
    return f"κ {found.kappa:.2f} (95 % {low:.2f} to {high:.2f}, {found.scored} {noun})"
