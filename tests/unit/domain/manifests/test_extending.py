"""What a repository may say about rules that it extends: more, never less; one table for all."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from pydantic import ValidationError

from gateval.domain.manifests.gate_config import GateConfig
from gateval.domain.manifests.strictness import (
    STRICTNESS,
    config_of,
    direction_of,
    extend,
    leaves,
    written,
)
from gateval.domain.planning.bar.planning import laxer_rules
from gateval.domain.planning.snapshot import RulesEdit

SHA = "0123456789abcdef0123456789abcdef01234567"
SOURCE = f"acme/rules/gates/strict.yml@{SHA}"

SLACK = {
    "urlFrom": "GATEVAL_NOTIFY_A", "format": "slack", "on": ["fail"], "privateNetwork": False,
}  # fmt: skip
"""As it is dumped: keys that are not named are there."""

VALUES: dict[str, list[Any]] = {
    "manifests": [[], ["agents/**"], ["agents/**", "evals/**"], ["**"], ["agents/a/**"]],
    "policy.regressions": ["block", "warn", "off"],
    "policy.threshold": ["block", "worse"],
    "policy.thresholdFloor": [0, 0.4, 1],
    "policy.unsetThreshold": ["regressions", "strict"],
    "policy.deadBaseline": ["block", "warn"],
    "policy.inconclusive": ["block", "warn"],
    "policy.judge.agreement": ["point", "lowerBound"],
    "policy.judge.uncalibrated": ["inconclusive", "warn"],
    "policy.bar": ["strictest", "base", "head"],
    "policy.candidateEnv": [[], ["LANG"], ["LANG", "TZ"], ["SHOP_URL"]],
    "policy.sources": [[], ["github.com"], ["github.com", "git.acme.example:8443"]],
    "policy.loopbackUpstreams": ["checked", "trusted"],
    "policy.bindPorts": [[], [8000], [8000, 9000], [9000]],
    "policy.egress": ["open", "gateway", [443], [80, 443], [8080]],
    "policy.gateway.allow": [[], ["store"], ["mcp"], ["store", "mcp"]],
    "policy.gateway.maxTokens": [1, 128_000, 500_000],
    "policy.gateway.callsPerRun": [1, 9],
    "policy.gateway.tokensPerRun": [1, 9],
    "policy.mustBelong": [[], ["src/**"], ["src/a/**"], ["**"]],
    "policy.drafts": ["evaluate", "wait"],
    "policy.cost.maxRatio": [None, 1, 1.5],
    "policy.cost.over": ["block", "warn"],
    "policy.latency.maxRatio": [None, 1, 1.5],
    "policy.latency.over": ["block", "warn"],
    "policy.budget.repetitions": [None, 40, 400],
    "policy.budget.tokens": [None, 1_000, 2_000],
    "policy.budget.usd": [None, 0.5, 5],
    "policy.budget.minutes": [None, 1, 2.5],
    "policy.budget.perPullRequest.usd": [None, 5, 50],
    "policy.budget.perDay.usd": [None, 5, 50.5],
    "policy.bypass.roles": [[], ["admin"], ["admin", "maintain"], ["write"]],
    "policy.bypass.requireReason": [True, False],
    "policy.bypass.allowAuthor": [True, False],
    "policy.audit.sinks": [["git"], ["git", "stdout"], ["git", "stdout", "summary"]],
    "policy.quarantine": [[], [{"fixture": "a", "owner": "ada", "until": "2026-12-01"}]],
    "policy.maxOutage": [1, 3],
    "policy.baseline.trials": [0, 10],
    "policy.baseline.maxAgeDays": [7, 14],
    "policy.sealedBits": [500, 2_000],
    "policy.baseline.workflows": [[], [".github/workflows/base.yml"]],
    "policy.baseline.repetitions": [1, 10],
    "policy.recipients": [[], [f"age1{'q' * 58}"]],
    "policy.audit.required": [[], ["git"], ["git", "summary"]],
    "policy.audit.verdicts": [True, False],
    "policy.notify": [
        [],
        [SLACK],
        [SLACK, {**SLACK, "format": "json"}],
        [{**SLACK, "on": ["pass"]}],
    ],
}
NAMED = {"policy.evalWeights", "policy.prices", "policy.rates"}
CASES = [(key, *pair) for key, values in VALUES.items() for pair in product(values, repeat=2)]


def config(key: str, value: Any) -> GateConfig:
    return config_of({tuple(key.split(".")): value})


def test_the_table_knows_every_key_and_no_other() -> None:
    defaults = {written(path) for path in leaves(GateConfig())}
    assert {*defaults, *NAMED} == STRICTNESS.keys()
    assert VALUES.keys() == STRICTNESS.keys() - {"extends", "agents", *NAMED}


@pytest.mark.parametrize(("key", "asked", "own"), CASES)
def test_what_applies_is_never_laxer_than_what_is_extended(key: str, asked: Any, own: Any) -> None:
    """Nor than the repository's own value, and the bar says so too."""
    parent = config(key, asked)
    extended = extend(parent, config(key, own))
    path = tuple(key.split("."))
    direction, kept = direction_of(path), leaves(extended.config)[path]
    assert not direction.laxer(asked, kept)
    assert not direction.laxer(own, kept)
    assert laxer_rules(RulesEdit(parent, extended.config, parent, "gateval.yml")) == ()
    ignored = [(one.key, one.own, one.asked) for one in extended.ignored]
    assert ignored == ([(key, own, asked)] if direction.laxer(asked, own) else [])
    lowered = laxer_rules(RulesEdit(parent, config(key, own), parent, "gateval.yml"))
    assert (key in [one.what for one in lowered]) == bool(ignored)


A, B = {"match": "a/**"}, {"match": "b/**", "models": ["openai/gpt-5"]}


@pytest.mark.parametrize(
    ("before", "after", "laxer"),
    [
        ([], [A], False),
        ([A], [A, B], False),
        ([A], [B, A], True),
        ([A, B], [B], True),
        ([A], [{**A, "models": ["openai/gpt-5"]}], True),
        ([A], [{**A, "name": "", "uses": [], "runtime": None}], False),
    ],
)
def test_how_agents_start_may_be_said_of_more_and_not_otherwise(
    before: Any, after: Any, *, laxer: bool
) -> None:
    """The first entry that fits counts, so a new one stands behind those that are there."""
    assert STRICTNESS["agents"].laxer(before, after) is laxer
    kept = STRICTNESS["agents"].strictest(before, after)
    assert not STRICTNESS["agents"].laxer(before, kept)
    edit = RulesEdit(
        config("agents", before), config("agents", after), config("agents", before), "x"
    )
    assert bool(laxer_rules(edit)) is laxer


def test_what_the_repository_does_not_name_is_as_it_is_asked() -> None:
    parent = GateConfig.model_validate(
        {"policy": {"regressions": "warn", "evalWeights": {"a.b": 2}}}
    )
    own = GateConfig.model_validate({"extends": SOURCE, "policy": {"drafts": "wait"}})
    found = extend(parent, own)
    assert found.ignored == ()
    assert found.config.extends == SOURCE
    assert found.config.policy.regressions == "warn"
    assert found.config.policy.drafts == "wait"
    assert found.config.policy.eval_weights == {"a.b": 2}


def test_sinks_that_either_requires_are_written_to() -> None:
    parent = GateConfig.model_validate({"policy": {"audit": {"sinks": ["git"], "required": []}}})
    own = GateConfig.model_validate({"policy": {"audit": {"required": ["summary"]}}})
    audit = extend(parent, own).config.policy.audit
    assert set(audit.sinks) == {"git", "summary"}
    assert audit.required == ("summary",)


def test_a_change_of_what_is_extended_has_to_be_accepted() -> None:
    with_source, without = GateConfig(extends=SOURCE), GateConfig()
    newer = GateConfig(extends=SOURCE.replace("0123", "3210"))
    for before, after in ((with_source, without), (without, with_source), (with_source, newer)):
        (found,) = laxer_rules(RulesEdit(before, after, before, "gateval.yml"))
        assert found.what == "extends"


def test_a_source_is_a_file_at_one_commit() -> None:
    source = GateConfig(extends=SOURCE).source
    assert source is not None
    assert (source.repository, source.path, source.commit) == (
        "acme/rules", "gates/strict.yml", SHA
    )  # fmt: skip
    assert str(source) == "acme/rules/gates/strict.yml@0123456"
    assert GateConfig().source is None


@pytest.mark.parametrize(
    "text",
    [
        "acme/rules/gateval.yml@main",
        "acme/rules/gateval.yml@v1",
        f"acme/rules/gateval.yml@{SHA[:7]}",
        f"acme/rules/gateval.yml@{SHA.upper()}",
        f"acme/rules@{SHA}",
        f"acme/rules/../../user@{SHA}",
        f"acme/../secret/a.yml@{SHA}",
        f"acme/rules//a.yml@{SHA}",
        f"acme/rules/a.yml?x=1@{SHA}",
        f"https://evil.example/rules/a.yml@{SHA}",
        f"acme/rules/a.yml@{SHA}\n",
    ],
)
def test_nothing_that_can_move_or_lead_elsewhere_is_a_source(text: str) -> None:
    with pytest.raises(ValidationError, match="OWNER/REPO/path@SHA"):
        GateConfig(extends=text)
