"""A change of the gate config: shown, refused when invalid, and a lowered bar where it is laxer."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.decision.decision import make_report
from gateval.domain.plan.plan import Plan
from gateval.domain.problems import InvalidManifests
from gateval.domain.results.results import Results
from gateval.domain.verdicts import GateVerdict
from gateval.errors import RepositoryError
from gateval.pipeline.manifests import ManifestCache
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, build_shop, plan_of

CONFIG = ".github/gateval.yml"
RULES = """\
manifests: [agents/**, evals/**]
policy:
  regressions: block
  inconclusive: block
  bar: strictest
  candidateEnv: [LANG]
  bypass:
    roles: [admin]
    requireReason: true
    allowAuthor: false
  audit:
    sinks: [git, stdout]
    required: [git, stdout]
    verdicts: true
  egress: [443]
"""


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = build_shop(tmp_path / "shop")
    repo.checkout("main")
    repo.write(CONFIG, RULES)
    repo.commit()
    repo.branch("rules")
    return repo


def verdict(plan: Plan) -> GateVerdict:
    return make_report(Results(plan=plan)).decision.verdict


LAXER = {
    "regressions": ("regressions: block", "regressions: warn", "3 policy.regressions block → warn"),
    "regressions off": ("regressions: block", "regressions: off", "3 policy.regressions block → off"),
    "inconclusive": (
        "inconclusive: block", "inconclusive: warn", "4 policy.inconclusive block → warn"
    ),
    "the bar": ("bar: strictest", "bar: head", "5 policy.bar strictest → head"),
    "the bar, base": ("bar: strictest", "bar: base", "5 policy.bar strictest → base"),
    "variables": ("[LANG]", "[LANG, SHOP_URL]", "6 policy.candidateEnv LANG → LANG, SHOP_URL"),
    "roles": ("[admin]", "[admin, triage]", "8 policy.bypass.roles admin → admin, triage"),
    "default roles": ("    roles: [admin]\n", "", "7 policy.bypass.roles admin → admin, maintain"),
    "reason": ("requireReason: true", "requireReason: false", "requireReason true → false"),
    "author": ("allowAuthor: false", "allowAuthor: true", "allowAuthor false → true"),
    "sinks": (
        "sinks: [git, stdout]\n    required: [git, stdout]", "sinks: [git]\n    required: [git]",
        "12 policy.audit.sinks git, stdout → git",
    ),
    "required sinks": (
        "required: [git, stdout]", "required: [git]", "13 policy.audit.required git, stdout → git"
    ),
    "verdicts": ("verdicts: true", "verdicts: false", "14 policy.audit.verdicts true → false"),
    "more ports": ("[443]", "[443, 8080]", "15 policy.egress 443 → 443, 8080"),
    "every port": ("egress: [443]", "egress: open", "15 policy.egress 443 → open"),
    "calls that do more": (
        "policy:\n", "policy:\n  gateway: {allow: [store]}\n",
        "policy.gateway.allow none → store",
    ),
    "longer answers": (
        "policy:\n", "policy:\n  gateway: {maxTokens: 128001}\n",
        "policy.gateway.maxTokens 128000 → 128001",
    ),
    "more tokens": (
        "policy:\n", "policy:\n  gateway: {tokensPerRun: 2000000000}\n",
        "policy.gateway.tokensPerRun 1000000000 → 2000000000",
    ),
    "fewer manifests": (
        "[agents/**, evals/**]", "[agents/**]", "1 manifests agents/**, evals/** → agents/**"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LAXER)
def test_a_laxer_rule_is_a_lower_bar(shop: Repo, case: str) -> None:
    old, new, words = LAXER[case]
    assert old in RULES
    shop.write(CONFIG, RULES.replace(old, new))
    shop.commit()
    plan = plan_of(shop)
    assert any(f"{CONFIG}:{words}" in str(one) or words in str(one) for one in plan.lost), plan.lost
    assert plan.policy.regressions == "block", "the target branch's rules decide"
    assert verdict(plan) is GateVerdict.FAIL
    assert verdict(plan.model_copy(update={"bar_accepted": "@ann"})) is GateVerdict.PASS


def test_a_gate_config_that_goes_away_takes_every_rule_with_it(shop: Repo) -> None:
    shop.delete(CONFIG)
    shop.commit()
    plan = plan_of(shop)
    assert {one.what for one in plan.lost} == {
        "policy.bypass.roles",
        "policy.bypass.requireReason",
        "policy.bypass.allowAuthor",
        "policy.audit.required",
        "policy.audit.verdicts",
        "policy.egress",
    }
    assert all(one.place.file == CONFIG for one in plan.lost)
    assert any("policy.candidateEnv LANG → none" in warning for warning in plan.warnings)


STRICTER = {
    "fewer variables": ("[LANG]", "[]", "policy.candidateEnv LANG → none"),
    "fewer roles": ("[admin]", "[]", "policy.bypass.roles admin → none"),
    "more manifests": (
        "[agents/**, evals/**]", "['**']", "manifests agents/**, evals/** → **"
    ),
    "fewer calls": (
        "policy:\n", "policy:\n  gateway: {callsPerRun: 1000}\n",
        "policy.gateway.callsPerRun 250000 → 1000",
    ),
    "drafts": ("policy:\n", "policy:\n  drafts: wait\n", "policy.drafts evaluate → wait"),
}  # fmt: skip


@pytest.mark.parametrize("case", STRICTER)
def test_any_other_edit_is_shown_and_blocks_nothing(shop: Repo, case: str) -> None:
    old, new, words = STRICTER[case]
    shop.write(CONFIG, RULES.replace(old, new))
    shop.commit()
    plan = plan_of(shop)
    assert plan.lost == ()
    (warning,) = plan.warnings
    assert words in warning
    assert "takes effect after the merge" in warning
    assert verdict(plan) is GateVerdict.PASS


def test_a_comment_is_no_edit_of_a_rule(shop: Repo) -> None:
    shop.write(CONFIG, f"# ours\n{RULES}")
    shop.commit()
    plan = plan_of(shop)
    assert (plan.lost, plan.warnings) == ((), ())


@pytest.mark.parametrize(
    ("text", "where"),
    [
        (RULES.replace("bar: strictest", "bra: strictest"), f"{CONFIG}:5:3: policy.bra"),
        (RULES.replace("[LANG]", "[OPENAI_API_KEY]"), CONFIG),
        ("policy: {\n", f"{CONFIG}:2:1"),
    ],
)
def test_a_change_that_makes_it_invalid_is_refused(shop: Repo, text: str, where: str) -> None:
    shop.write(CONFIG, text)
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop)
    assert str(caught.value.problems[0]).startswith(where)
    assert "every later change" in caught.value.hint


@pytest.mark.parametrize("side", ["main", "rules"])
def test_a_link_is_no_gate_config(shop: Repo, side: str) -> None:
    shop.checkout(side)
    shop.delete(CONFIG)
    shop.link(CONFIG, "../lax.yml")
    shop.write("lax.yml", "policy: {regressions: off}\n")
    shop.commit()
    shop.checkout("rules")
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop)
    assert "must be a file" in str(caught.value.problems[0])


def test_a_gate_config_too_large_to_read_is_no_absent_one(shop: Repo) -> None:
    shop.checkout("main")
    shop.write(CONFIG, f"{RULES}# {'x' * ManifestCache.FILE_LIMIT}\n")
    shop.commit()
    shop.checkout("rules")
    with pytest.raises(InvalidManifests):
        plan_of(shop)


def test_a_gate_config_that_git_cannot_give_is_no_absent_one(shop: Repo) -> None:
    oid = shop.id(f"main:{CONFIG}")
    (shop.path / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(RepositoryError):
        plan_of(shop, head="rules")


def test_rules_that_only_the_target_branch_has_tightened_are_not_this_changes(shop: Repo) -> None:
    shop.write(CONFIG, RULES.replace("policy:\n", "policy:\n  drafts: wait\n"))
    shop.commit()
    shop.checkout("main")
    shop.write(
        CONFIG,
        RULES.replace("requireReason: true", "requireReason: true\n    ").replace(
            "roles: [admin]", "roles: []"
        ),
    )
    shop.commit()
    shop.checkout("rules")
    assert plan_of(shop).lost == ()


PROGRAM = AGENT.replace(
    "  tools:", "  runtime: {type: command, command: [python3, run.py]}\n  tools:"
)


@pytest.fixture
def program(tmp_path: Path) -> Repo:
    """An Agent that is a program of three files, and a branch on which to change it."""
    repo = build_shop(tmp_path / "program")
    repo.checkout("main")
    repo.write("agents/support.yaml", PROGRAM)
    for name in ("run", "tools", "deep/more"):
        repo.write(f"agents/{name}.py", "x = 1\n")
    repo.commit()
    repo.branch("narrow")
    return repo


NARROWED = {
    "watch": (
        PROGRAM + "  watch: [run.py]\n",
        "Agent support no longer depends on 2 files: agents/deep/more.py, agents/tools.py",
    ),
    "cwd": (
        PROGRAM.replace("command, command: [python3, run.py]", "command, cwd: deep, command: [python3, ../run.py]"),
        "Agent support no longer depends on 1 file: agents/tools.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NARROWED)
def test_an_agent_that_depends_on_less_is_a_lower_bar(program: Repo, case: str) -> None:
    text, words = NARROWED[case]
    program.write("agents/support.yaml", text)
    program.commit()
    plan = plan_of(program)
    assert [one.what for one in plan.lost] == [words]
    assert verdict(plan) is GateVerdict.FAIL


HARMLESS = {
    "everything is watched": PROGRAM + "  watch: ['**']\n",
    "other folders too": PROGRAM + "  watch: [., /src/**]\n",
}


@pytest.mark.parametrize("case", HARMLESS)
def test_an_agent_that_depends_on_as_much_is_none(program: Repo, case: str) -> None:
    program.write("agents/support.yaml", HARMLESS[case])
    program.commit()
    assert plan_of(program).lost == ()


def test_files_that_are_gone_need_no_watching(program: Repo) -> None:
    program.write("agents/support.yaml", PROGRAM + "  watch: [run.py, deep]\n")
    program.delete("agents/tools.py")
    program.commit()
    assert plan_of(program).lost == ()


def test_a_program_that_becomes_a_declaration_is_one(program: Repo) -> None:
    program.write("agents/support.yaml", AGENT)
    program.commit()
    (lost,) = plan_of(program).lost
    assert "Agent support is no longer run as the program that it was command → model" in str(lost)
