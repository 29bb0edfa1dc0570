"""Gate config and scripted models: files that are one value."""

from __future__ import annotations

import pytest

from gateval.domain.base import JsonObject, digest
from gateval.domain.manifests.gate_config import (
    GateConfig,
    InconclusivePolicy,
    Policy,
    RegressionPolicy,
    policy_digest,
)
from gateval.formats.native.gate_config import read_gate_config, read_scripted


def test_a_gate_config() -> None:
    text = (
        "# who may do what\nmanifests: [agents/**]\npolicy:\n  regressions: warn\n"
        "  inconclusive: warn\n  candidateEnv: [LANG]\n"
    )
    assert read_gate_config(".github/gateval.yml", text.encode()) == (
        GateConfig(
            manifests=("agents/**",),
            policy=Policy(
                regressions=RegressionPolicy.WARN,
                inconclusive=InconclusivePolicy.WARN,
                candidate_env=("LANG",),
            ),
        ),
        (),
    )


def test_who_may_bypass_and_what_is_recorded() -> None:
    text = (
        "policy:\n  bypass: {roles: [admin, release captain], requireReason: true, allowAuthor: false}"
        "\n  audit: {sinks: [git, stdout], required: [git, stdout], verdicts: true}\n"
    )
    config, problems = read_gate_config(".github/gateval.yml", text.encode())
    assert problems == ()
    assert config is not None
    bypass, audit = config.policy.bypass, config.policy.audit
    assert bypass.roles == ("admin", "release captain")
    assert (bypass.require_reason, bypass.allow_author) == (True, False)
    assert (audit.sinks, audit.required) == (("git", "stdout"), ("git", "stdout"))
    assert audit.verdicts


def test_the_defaults_of_bypass_and_audit() -> None:
    policy = Policy()
    assert policy.bypass.roles == ("admin", "maintain")
    assert (policy.bypass.require_reason, policy.bypass.allow_author) == (False, True)
    assert (policy.audit.sinks, policy.audit.required) == (("git", "stdout", "summary"), ("git",))
    assert not policy.audit.verdicts


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("{policy: {bypass: {roles: [maintain, admin]}}}", True),
        ("policy:\n  bypass:\n    roles: [admin, maintain, admin]\n  regressions: block\n", True),
        ("manifests: [agents/**]\n", True),
        ("policy: {bypass: {roles: [admin]}}", False),
        ("policy: {regressions: warn}", False),
        ("policy: {audit: {verdicts: true}}", False),
        ("policy: {candidateEnv: [LANG]}", False),
    ],
)
def test_the_digest_of_a_policy_is_its_meaning(text: str, *, same: bool) -> None:
    config, problems = read_gate_config("g.yml", text.encode())
    assert config is not None, problems
    assert (policy_digest(config.policy) == policy_digest(Policy())) is same


def test_a_key_that_is_added_changes_the_digest_of_no_policy_that_leaves_it_out() -> None:
    """Else the same head would be drawn anew after an upgrade. Where a default means something
    else than before, this has to fail, and its digests have to change.
    """
    text = "policy: {bypass: {roles: [admin, write]}, gateway: {callsPerRun: 9}, budget: {usd: 2}}"
    config, problems = read_gate_config("g.yml", text.encode())
    assert config is not None, problems
    said: JsonObject = {
        "bypass": {"roles": ["admin", "write"]},
        "gateway": {"calls_per_run": 9},
        "budget": {"usd": 2.0},
    }
    assert policy_digest(config.policy) == digest(said)
    assert policy_digest(Policy()) == digest({})


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "{}\n"])
def test_an_empty_gate_config_means_the_defaults(text: str) -> None:
    assert read_gate_config("gateval.yml", text.encode()) == (GateConfig(), ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("polcy: {}\n", 'g.yml:1:1: polcy: Unknown key "polcy". Did you mean "policy"?'),
        ("policy:\n", "g.yml:1:1: policy: Expected a mapping, got nothing."),
        (
            "policy: {regressions: blok}\n",
            'g.yml:1:23: policy.regressions: "blok" is not known here. Expected block, warn or off.',
        ),
        (
            "policy: {regressions: off, candidateEnv: LANG}\n",
            'g.yml:1:42: policy.candidateEnv: Expected a list, got text "LANG".',
        ),
        (
            "policy: {bypass: {role: [admin]}}\n",
            'g.yml:1:19: policy.bypass.role: Unknown key "role". Did you mean "roles"?',
        ),
        (
            "policy: {audit: {sinks: [gti]}}\n",
            'g.yml:1:26: policy.audit.sinks[0]: "gti" is not known here. Expected git, stdout',
        ),
        (
            "policy:\n  audit: {sinks: [stdout]}\n",
            'g.yml:2:10: policy.audit: The sink "git" is required, but not among the sinks.',
        ),
        ("- a\n", "g.yml:1:1: Expected a mapping, got a list."),
        ("{}\n---\n{}\n", "g.yml:3:1: Only one document may stand in this file."),
        ("policy: {\n", "g.yml:2:1: This is not valid YAML"),
        (
            "manifests: [a]\nmanifests: [b]\n",
            'g.yml:2:1: manifests: The key "manifests" stands here',
        ),
    ],
)
def test_a_wrong_gate_config_is_none(text: str, expected: str) -> None:
    config, problems = read_gate_config("g.yml", text.encode())
    assert config is None
    assert len(problems) == 1
    assert str(problems[0]).startswith(expected)


SCRIPT = """\
description: a bot
rules:
  - when: {user: refund, turn: 1}
    toolCalls: [{name: refund, arguments: {id: 7}}]
  - {reply: Done., probability: 0.5, latencySeconds: 0.1}
"""


def test_a_scripted_model_is_named_after_its_file() -> None:
    model, problems = read_scripted(".gateval/scripted/shop.bot.yaml", SCRIPT.encode())
    assert problems == ()
    assert model is not None
    assert model.name == "shop.bot"
    assert model.spec.rules[0].when.user == "refund"
    assert model.spec.rules[0].tool_calls[0].arguments == {"id": 7}
    assert model.spec.rules[1].probability == 0.5


def test_its_digest_is_its_meaning() -> None:
    def digest(text: str) -> str:
        model, _ = read_scripted("a.yaml", text.encode())
        assert model is not None
        return model.digest

    assert digest("# x\nseed: 0\n" + SCRIPT) == digest(SCRIPT)
    assert digest(SCRIPT.replace("Done.", "No.")) != digest(SCRIPT)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 's.yaml:1:1: rules: The required key "rules" is missing.'),
        ("rules: []\n", "s.yaml:1:8: rules: Must have at least 1 entry."),
        ("rules: [{repl: x}]\n", 's.yaml:1:10: rules[0].repl: Unknown key "repl". Did you mean "reply"?'),
        ("rules: [{probability: 0}]\n", "s.yaml:1:23: rules[0].probability: Must be greater than 0"),
    ],
)  # fmt: skip
def test_a_wrong_script_is_none(text: str, expected: str) -> None:
    model, problems = read_scripted("s.yaml", text.encode())
    assert model is None
    assert [str(problem)[: len(expected)] for problem in problems] == [expected]
