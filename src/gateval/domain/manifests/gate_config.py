"""The gate config `.github/gateval.yml`: what the gate looks at and how strict it is.

It is always read from the base tip, so a pull request cannot loosen it for itself.
"""

from __future__ import annotations

import operator
import re
from datetime import date
from enum import StrEnum
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    JsonValue,
    StringConstraints,
    Tag,
    model_validator,
)

from gateval.domain.base import JsonObject, Name, Positive, Spec, Value, digest
from gateval.domain.verdicts import GateVerdict


class RegressionPolicy(StrEnum):
    """The effect of a confirmed regression: fail the gate, warn, or nothing."""

    BLOCK = "block"
    WARN = "warn"
    OFF = "off"


class ThresholdPolicy(StrEnum):
    """The effect of a missed threshold: fail the gate always, or only where head is below base."""

    BLOCK = "block"
    WORSE = "worse"


class UnsetThresholdPolicy(StrEnum):
    """The demand of an Eval without a threshold beside a baseline: no regression, or 1.0."""

    REGRESSIONS = "regressions"
    STRICT = "strict"


class InconclusivePolicy(StrEnum):
    """What judge errors do: keep the gate from passing, or only warn."""

    BLOCK = "block"
    WARN = "warn"


class DeadBaselinePolicy(StrEnum):
    """What an Eval of which nothing passes, on base neither, does: a warning, or no pass."""

    BLOCK = "block"
    WARN = "warn"


class RiseEffect(StrEnum):
    """The effect of a cost or a time over its limit: fail the gate, or a warning."""

    BLOCK = "block"
    WARN = "warn"


class AgreementPolicy(StrEnum):
    """The figure of a judge's agreement that has to reach `minAgreement`: the estimate itself, or
    the lower limit of its interval.
    """

    POINT = "point"
    LOWER_BOUND = "lowerBound"


class UncalibratedPolicy(StrEnum):
    """What a judge that is not calibrated does to an Eval that asks for it: no pass, or a word."""

    INCONCLUSIVE = "inconclusive"
    WARN = "warn"


class DraftPolicy(StrEnum):
    """What happens on a draft: it is evaluated, or waits, unpassed, until it is ready."""

    EVALUATE = "evaluate"
    WAIT = "wait"


class BarPolicy(StrEnum):
    """The bar of a change: head's Evals and the base tip's, or only one of them."""

    STRICTEST = "strictest"
    HEAD = "head"
    BASE = "base"


class AuditSinkName(StrEnum):
    """Where audit entries go: the branch in git, a line on standard output, the job summary."""

    GIT = "git"
    STDOUT = "stdout"
    SUMMARY = "summary"


class NotificationFormat(StrEnum):
    """How a decision is told elsewhere: as Slack and what is compatible with it, or as data."""

    SLACK = "slack"
    JSON = "json"


class EgressPolicy(StrEnum):
    """What candidates may connect to by TCP: everything, or the gateway of the models only."""

    OPEN = "open"
    GATEWAY = "gateway"


class RecordingPolicy(StrEnum):
    """What a job in CI does with its model calls, word by word: nothing, or it records them in its
    results, which the workflow uploads.
    """

    NEVER = "never"
    UPLOAD = "upload"


class LoopbackPolicy(StrEnum):
    """Whether a provider on this machine is asked where nobody can tell who answers there."""

    CHECKED = "checked"
    TRUSTED = "trusted"


class CallFeature(StrEnum):
    """What a candidate's model call may do beyond an answer: keep data in the provider's account,
    have the provider call a remote MCP server, or reach into the account's connectors.
    """

    STORE = "store"
    MCP = "mcp"
    CONNECTORS = "connectors"


class RisePolicy(Spec):
    """How much more answers may take on head than on base."""

    max_ratio: float | None = Field(default=None, ge=1, le=1000)
    """The most that head may take, as a multiple of base, on the mean of the fixtures; the interval
    of that multiple has to lie above it to count. No limit if absent."""
    over: RiseEffect = RiseEffect.WARN
    """What it does to be over that: warn, or block."""


class ModelPrice(Spec):
    """What a model costs, where the list of prices lacks it or you pay another price."""

    input: float = Field(ge=0, le=1_000_000, allow_inf_nan=False)
    """US dollars for a million tokens read."""
    output: float = Field(ge=0, le=1_000_000, allow_inf_nan=False)
    """US dollars for a million tokens answered."""

    def usd(self, input_tokens: int, output_tokens: int) -> float:
        """Return the price of so many tokens in US dollars."""
        return (self.input * input_tokens + self.output * output_tokens) / 1_000_000


class UsdBudget(Spec):
    """What several runs may take together."""

    usd: float | None = Field(default=None, gt=0, lt=1e9, allow_inf_nan=False)
    """US dollars at list prices. A run that is killed counts as all that it was given:
    `policy.budget.usd`, without that all that was left. With them used up, a run that asks a model
    is incomplete."""


class BudgetPolicy(Spec):
    """What one run may take. Every fixture runs; what is left out are repetitions."""

    repetitions: int | None = Field(default=None, ge=1, le=10_000_000)
    """Trials of a run, both sides together. Evals that plan more repetitions than that leaves are
    cut, the most repeated first."""
    tokens: Positive | None = None
    """Tokens after which nothing is run again; the judge's count, too."""
    usd: float | None = Field(default=None, gt=0, lt=1e9, allow_inf_nan=False)
    """US dollars at list prices that the calls of a run may take together, the judge's too. A call
    is made only if it fits in, with what its answer may have; with it used up the run ends."""
    minutes: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Minutes of waiting for agents, side by side as their Evals say, after which nothing is run
    again."""
    per_pull_request: UsdBudget = UsdBudget()
    per_day: UsdBudget = UsdBudget()

    @property
    def limits_usd(self) -> bool:
        """Whether it limits dollars, so that every model needs a price."""
        return any(one.usd is not None for one in (self, self.per_pull_request, self.per_day))

    @property
    def is_set(self) -> bool:
        """Whether there is any limit of a run."""
        return self.counts_costs or self.repetitions is not None

    @property
    def counts_costs(self) -> bool:
        """Whether it limits what only finished trials tell: tokens, money, time."""
        return any(one is not None for one in (self.tokens, self.usd, self.minutes))


def _day(text: str) -> str:
    try:
        if date.fromisoformat(text).isoformat() == text:
            return text
    except ValueError:
        pass
    raise ValueError(f'"{text[:40]}" is no day; expected one such as "2026-12-01"')


class QuarantinedFixture(Spec):
    """One fixture of all Evals, or of one, that informs without blocking up to a day."""

    fixture: Name
    """The fixture, or the template of cases."""
    eval: Name | None = None
    """The Eval; every one that runs it, if not set."""
    owner: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    """Who mends it."""
    until: Annotated[str, AfterValidator(_day)]
    """The last day, in quotes; from the next one on it blocks again."""

    def holds(self, today: str) -> bool:
        """Whether it holds on a day (`2026-12-01`)."""
        return today <= self.until

    def about(self, evaluation: str, fixture: str, family: str = "") -> bool:
        """Whether it is about this fixture of this Eval."""
        return self.fixture in {fixture, family} and self.eval in {None, evaluation}


_SOURCE = re.compile(r"([A-Za-z0-9._-]+/[A-Za-z0-9._-]+)/([A-Za-z0-9._/-]+)@([0-9a-f]{40})")
_EXPECTED = (
    "Write it as OWNER/REPO/path@SHA, such as acme/rules/gateval.yml@ and the 40 hexadecimal "
    "digits of a commit. Branches and tags can move, so they do not count."
)


class RulesSource(Value):
    """A gate config in another repository, at one commit: `OWNER/REPO/path@SHA`."""

    repository: str
    path: str
    commit: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Take such a text apart. Raises `ValueError` with a sentence."""
        found = _SOURCE.fullmatch(text)
        if found is None:
            raise ValueError(_EXPECTED)
        repository, path, commit = found.groups()
        steps = (*repository.split("/"), *path.split("/"))
        if any(step in {"", ".", ".."} for step in steps):
            raise ValueError(_EXPECTED)
        return cls(repository=repository, path=path, commit=commit)

    def __str__(self) -> str:
        return f"{self.repository}/{self.path}@{self.commit[:7]}"


GATE_CONFIG_PATH = ".github/gateval.yml"


SourceHost = Annotated[
    str,
    StringConstraints(
        pattern=r"^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[0-9]{1,5})?$", max_length=200
    ),
]
"""A host as it stands in a URL, with its port where that is not 443."""

ProviderName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=100)]

ModelName = Annotated[str, StringConstraints(pattern=r"^[^/\s]+/\S+$", max_length=200)]
"""A model as manifests name it: `provider/model-id`."""

EvalWeight = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]
Port = Annotated[int, Field(ge=1, le=65_535)]


Egress = Annotated[
    Annotated[EgressPolicy, Tag("word")]
    | Annotated[tuple[Port, ...], Field(min_length=1, max_length=1_000), Tag("ports")],
    Discriminator(lambda value: "word" if isinstance(value, str) else "ports"),
]
"""Or the ports, of any address, that they may connect to beside the gateway's."""


RoleName = Annotated[str, StringConstraints(min_length=1, max_length=100)]
"""A role in the repository as the forge names it; organisations have some of their own."""


class BypassPolicy(Spec):
    """Who may let a change pass that the gate does not, and how. Accepting a lower bar, too."""

    roles: tuple[RoleName, ...] = ("admin", "maintain")
    """Roles in the repository whose label counts; nobody's, if empty."""
    require_reason: bool = False
    """Whether a bypass needs a reason, given in a comment."""
    allow_author: bool = True
    """Whether the label of the pull request's own author counts."""


class AuditPolicy(Spec):
    """The records of bypasses and verdicts, and where they are kept."""

    sinks: tuple[AuditSinkName, ...] = tuple(AuditSinkName)
    """Where entries go."""
    required: tuple[AuditSinkName, ...] = (AuditSinkName.GIT,)
    """Sinks without which there is no bypass; all of them among `sinks`."""
    verdicts: bool = False
    """Whether every verdict is recorded, not only what bends a rule."""

    @model_validator(mode="after")
    def _what_is_required_is_written(self) -> Self:
        for name in self.required:
            if name not in self.sinks:
                raise ValueError(f'The sink "{name}" is required, but not among the sinks')
        return self


NOTIFY_PREFIX = "GATEVAL_NOTIFY_"
"""What the names of variables with addresses of webhooks begin with.

By it they are known for secrets, and no rule can have anything posted to what another one holds.
"""


class NotificationPolicy(Spec):
    """Somebody who is told of decisions by a webhook."""

    url_from: Annotated[
        str, StringConstraints(pattern=rf"^{NOTIFY_PREFIX}[A-Z0-9_]+$", max_length=100)
    ]
    """The variable of the gate's job that holds the address, such as GATEVAL_NOTIFY_SLACK: the
    address is a secret, and stands in no file."""
    format: NotificationFormat = NotificationFormat.SLACK
    """A message as Slack takes it, and what is compatible with it (`slack`), or `notification.v1`
    (`json`)."""
    on: tuple[GateVerdict, ...] = Field(
        default=tuple(one for one in GateVerdict if one is not GateVerdict.PASS), min_length=1
    )
    """The verdicts that are told."""
    private_network: bool = False
    """Whether the address may be one of a private network. Else it is public, or this machine's."""


class ProviderRate(Spec):
    """What a provider lets a key do in a minute, all its models together."""

    rpm: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    """Calls."""
    tpm: Annotated[int, Field(ge=1, le=1_000_000_000_000)] | None = None
    """Tokens, read and answered."""


class GatewayPolicy(Spec):
    """What candidates may ask of model providers, whose keys are the gate's."""

    allow: tuple[CallFeature, ...] = ()
    """What calls may do beyond an answer: `store`, `mcp` (remote servers), `connectors`."""
    max_tokens: int = Field(default=128_000, ge=1)
    """The most tokens that one call may ask to be answered."""
    calls_per_run: int = Field(default=250_000, ge=1)
    """Model calls of a run together, each attempt counted: those of candidates, of agents that the
    gate runs itself, and of judges. With it used up the run ends."""
    tokens_per_run: int = Field(default=1_000_000_000, ge=1)
    """Tokens of all these calls together. A call is made only if it fits in, with what its answer
    may have."""


WorkflowPath = Annotated[
    str, StringConstraints(pattern=r"^\.github/workflows/[^/]+\.ya?ml$", max_length=200)
]


Recipient = Annotated[str, StringConstraints(pattern=r"^age1[02-9ac-hj-np-z]{58}$")]
"""A public key of age (https://age-encryption.org/v1, section on X25519): Bech32."""


class BaselinePolicy(Spec):
    """What runs on the default branch measured, as it takes the place of measuring base again."""

    trials: int = Field(default=10, ge=0, le=100)
    """The most stored trials of a fixture that count; with 0, base is always measured beside
    head."""
    max_age_days: int = Field(default=14, ge=1, le=365)
    """How old stored trials may be, in days."""
    workflows: tuple[WorkflowPath, ...] = (".github/workflows/agent-evals-baseline.yml",)
    """Workflows whose runs on the default branch are believed, besides the one that runs the
    gate."""
    repetitions: int = Field(default=1, ge=1, le=100)
    """How often runs on the default branch measure each fixture at least."""


class JudgePolicy(Spec):
    """When a judge that an Eval wants calibrated may decide."""

    agreement: AgreementPolicy = AgreementPolicy.POINT
    """Which figure has to reach `minAgreement`: Cohen's kappa as measured (`point`) or the lower
    limit of its interval of 95 % (`lowerBound`)."""
    uncalibrated: UncalibratedPolicy = UncalibratedPolicy.INCONCLUSIVE
    """What an Eval is whose judge is not calibrated as it asks: inconclusive, or decided by its
    other assertions, with a warning (`warn`)."""
    batch: bool = Field(default=False, exclude_if=operator.not_)
    """Whether runs by the clock ask judges in batches, at half the price: the answers take up to a
    day, and a run that goes on takes those that came after the time of the one before. Not where
    a sealed Eval runs, too."""


class Policy(Spec):
    """How the decision is made."""

    regressions: RegressionPolicy = RegressionPolicy.BLOCK
    """What a confirmed regression does."""
    threshold: ThresholdPolicy = ThresholdPolicy.BLOCK
    """What a missed threshold does: it blocks, or only where head scores below base (`worse`)."""
    threshold_floor: float = Field(default=0.0, ge=0, le=1)
    """With `threshold: worse`, the least score that passes."""
    unset_threshold: UnsetThresholdPolicy = UnsetThresholdPolicy.REGRESSIONS
    """What an Eval without a threshold asks where there is a baseline: that nothing regresses, or a
    score of 1 (`strict`)."""
    dead_baseline: DeadBaselinePolicy = DeadBaselinePolicy.WARN
    """What an Eval does that was answered and of which nothing passes, on base neither, so that it
    cannot see a regression: it passes with a warning, or does not (`block`)."""
    eval_weights: dict[str, EvalWeight] = {}
    """How the chance of a false alarm is shared between Evals, by name; 1 each."""
    inconclusive: InconclusivePolicy = InconclusivePolicy.BLOCK
    """What errors of the judge do."""
    judge: JudgePolicy = JudgePolicy()
    bar: BarPolicy = BarPolicy.STRICTEST
    """Whose Evals bind a change: its own and, where it asks less, the target branch's too
    (`strictest`), its own only (`head`), or the target branch's (`base`)."""
    candidate_env: tuple[str, ...] = ()
    """Names of the gate's variables that candidates may see."""
    sources: tuple[SourceHost, ...] = Field(default=(), max_length=100)
    """Hosts of other repositories whose files suites may name, as `gateval lock` pins them:
    `github.com`."""
    egress: Egress = EgressPolicy.OPEN
    """What candidates and their set-ups may connect to by TCP: everything (`open`), the gateway of
    the models only (`gateway`), or these ports too."""
    loopback_upstreams: LoopbackPolicy = LoopbackPolicy.CHECKED
    """Whether a provider on the gate's own machine is asked where the system cannot tell that it is
    no candidate that answers: at a terminal only (`checked`), or all the same (`trusted`), also one
    of the gate's own user that hides from it."""
    bind_ports: tuple[Port, ...] = Field(default=(), max_length=1_000)
    """Ports that candidates may listen on beside their own and those that the kernel chooses, where
    a model provider answers on the gate's own machine."""
    gateway: GatewayPolicy = GatewayPolicy()
    recordings: RecordingPolicy = Field(
        default=RecordingPolicy.NEVER, exclude_if=RecordingPolicy.NEVER.__eq__
    )
    """Whether jobs in CI record model calls beside their results (`upload`), without secrets and
    nothing of sealed Evals, so that a failure can be replayed without keys."""
    must_belong: tuple[str, ...] = ()
    """Patterns of files that matter: one that changes and belongs to no Agent that an Eval measures
    makes the run incomplete."""
    drafts: DraftPolicy = DraftPolicy.EVALUATE
    """Whether drafts are evaluated, or wait, unpassed, until they are ready."""
    cost: RisePolicy = RisePolicy()
    latency: RisePolicy = RisePolicy()
    budget: BudgetPolicy = BudgetPolicy()
    prices: dict[ModelName, ModelPrice] = Field(default={}, max_length=1_000)
    """What models cost, by `provider/model-id`, as `{input: 0.5, output: 1.5}` in US dollars for a
    million tokens: those that the list of prices lacks, and those that you get at another price."""
    rates: dict[ProviderName, ProviderRate] = Field(default={}, max_length=100)
    """What providers allow in a minute, by name, as `{rpm: 500, tpm: 200000}`: calls are spread so
    that they keep to it."""
    max_outage: float = Field(default=3.0, ge=0, le=1_440, allow_inf_nan=False)
    """Minutes for which all calls of a model may fail, while one call at a time tries it, before
    what needs it is not tried any more in this run."""
    baseline: BaselinePolicy = BaselinePolicy()
    quarantine: tuple[QuarantinedFixture, ...] = ()
    """Fixtures that inform and do not block, each with its owner and last day."""
    recipients: tuple[Recipient, ...] = Field(default=(), max_length=100)
    """Who may open sealed manifests, and the evidence of runs on them: public keys of age
    (`age1…`)."""
    sealed_bits: int = Field(default=2_000, ge=0)
    """Bits that all runs of a month may tell of one sealed file: log2 of all that could stand
    there, about 7 for the verdict and the rate of one Eval. From 80 % on there is a warning; beyond
    it verdicts alone are told, and at twice as many nothing more runs until other fixtures are
    sealed."""
    bypass: BypassPolicy = BypassPolicy()
    audit: AuditPolicy = AuditPolicy()
    notify: tuple[NotificationPolicy, ...] = Field(default=(), max_length=10)
    """Who is told of decisions by webhooks. One that cannot be reached changes no verdict."""


class AgentStart(Spec):
    """How agents are started that files of other tools define."""

    match: Annotated[str, StringConstraints(min_length=1, max_length=500)]
    """Pattern of their files, from the repository's root: `.claude/agents/*.md`."""
    name: Annotated[str, StringConstraints(max_length=200)] = ""
    """What Evals call them; `{name}` is the name that the file says. Default: that name."""
    models: tuple[ModelName, ...] = Field(default=(), max_length=100)
    """Models as `provider/model-id`, in the place of what the file names."""
    uses: tuple[ModelName, ...] = Field(default=(), max_length=100)
    """Other models that they may ask."""
    include: tuple[str, ...] = Field(default=(), max_length=1_000)
    """Patterns of further files that they depend on, from the repository's root."""
    watch: tuple[str, ...] | None = Field(default=None, max_length=1_000)
    """Patterns of the files that they depend on, in the place of those that are found."""
    runtime: JsonObject | None = None
    """`spec.runtime` of an Agent; keys that do not stand here are as the format has them. `cwd` is
    relative to the repository's root."""


def _source(text: str) -> str:
    if text:
        RulesSource.parse(text)
    return text


class GateConfig(Spec):
    """The gate config: what the gate looks at and how strict it is."""

    extends: Annotated[str, AfterValidator(_source)] = ""
    """A gate config that this one extends, as OWNER/REPO/path@SHA with the 40 digits of a commit.
    What it asks holds here; this one may only ask more."""
    manifests: tuple[str, ...] = ()
    """Patterns of the files that are looked at for manifests; all YAML files, if absent. One that
    fits nothing, while there are manifests elsewhere, is an error."""
    agents: tuple[AgentStart, ...] = Field(default=(), max_length=1_000)
    """How agents are started that files of other tools define, the first that fits."""
    policy: Policy = Policy()

    @property
    def source(self) -> RulesSource | None:
        """What it extends, if anything."""
        return RulesSource.parse(self.extends) if self.extends else None


def policy_digest(policy: Policy) -> str:
    """Return the SHA-256 of what a policy means, in hex: equal rules, equal digests.

    No list of a policy has an order that matters, and naming an entry twice changes nothing. What
    is as it is by default does not count: a key that a later version adds changes no digest.
    """
    said, usual = (
        _unordered(one.model_dump(mode="json", exclude_defaults=one is policy))
        for one in (policy, Policy())
    )
    return digest(_unusual(said, usual))


def _unusual(said: JsonValue, usual: JsonValue) -> JsonValue:
    """Return what is said otherwise than usual."""
    if not isinstance(said, dict) or not isinstance(usual, dict):
        return said
    found = {
        key: _unusual(one, usual.get(key)) for key, one in said.items() if one != usual.get(key)
    }
    return {key: one for key, one in found.items() if one != {}}


def _unordered(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _unordered(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [*sorted(set(map(str, value)))]
    return value
