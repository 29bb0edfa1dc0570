"""Eval gate on edits, and the quickstart."""

from __future__ import annotations

import json
from pathlib import Path

from gateval.domain.decision.decision import make_report
from gateval.domain.label_decision import GateLabel, LabelDecisions, LabelStatus
from gateval.domain.labels import Account, LabelEvent, LabelFacts, Push, rule_on
from gateval.domain.manifests.gate_config import BypassPolicy
from gateval.domain.verdicts import GateVerdict
from tests.compat.rows import states
from tests.helpers.command import candidate_processes, gateval
from tests.helpers.documents import FOLDER
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.reports import make_results
from tests.helpers.shop import PROMPT, build_shop
from tests.servers.model_server import Answer, Call, reply

CONTENT = {
    "score": 1,
    "confidence": 1,
    "summary": "Right, and prefixed.",
    "violations": [],
    "what_would_raise_score": "",
}


def tutor(call: Call) -> Answer:
    """The tutor, as its prompt has it, and a judge who is content with it."""
    judging = b"strict and fair judge" in call.raw
    return reply(call, json.dumps(CONTENT) if judging else "answer: 4")


@states("The quickstart's Agent, fixture and Eval, applied as they stand, pass")
@states("It scores both deterministically and by an optional LLM judge")
@states("A Pass comes with per-fixture scores and the judge's verdict under each fixture")
@states("`tools: [{type: bash, enabled: false}]` switches a tool off")
def test_the_quickstart(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "tutor")
    repo.write("tutor.yaml", (FOLDER / "tutor.yaml").read_text())
    repo.commit("As the document has it")
    with provider(tutor) as (_, environ):
        out = str(tmp_path / "out")
        done = gateval(repo, "run", "math-tutor-eval", "--results", out, **environ)
    assert done.returncode == 0, done.stdout + done.stderr
    (trial,) = json.loads((tmp_path / "out/results.v1.json").read_text())["trials"]
    assert (trial["outcome"], trial["score"]) == ("pass", 1.0)
    assert trial["assessments"][3]["verdict"]["summary"] == "Right, and prefixed."


@states(
    "A shadow Agent `{name}-cand-{run}` is made from the candidate spec",
    differs="from the pull request's head, and one of base beside it; both run in isolation",
)
@states("Each Eval whose `targetAgent` is the Agent runs against it, its schedule aside")
@states(
    "Any-Fail: the original is left untouched, and the failing fixtures are listed",
    differs="the check on the pull request fails, so the change is not merged",
)
@states("Candidates are always torn down")
@states(
    "Manual testing misses that a prompt change which mends one case breaks others; the suite shows "
    "it"
)
def test_an_edit_that_regresses_is_blocked(tmp_path: Path) -> None:
    repo = build_shop(tmp_path / "shop")
    repo.write(
        "agents/prompts/support.md", PROMPT.replace("Always ask for the reason first.\n", "")
    )
    repo.commit("Shorter")
    done = gateval(repo, "check", "--base", "main")
    assert done.returncode == 1
    assert "refund-asks-why passed before and fails now" in " ".join(done.stdout.split())
    assert candidate_processes(repo.path.parent) == []


@states("All-Pass: the patch is applied", differs="the check passes, so the change may be merged")
def test_an_edit_that_keeps_all_passes(tmp_path: Path) -> None:
    repo = build_shop(tmp_path / "shop")
    repo.write("agents/prompts/support.md", PROMPT + "Be kind.\n")
    repo.commit("Kinder")
    assert gateval(repo, "check", "--base", "main").returncode == 0


@states(
    "`Save anyway` (`?force=true`) ships a known-bad change; the bypass is logged with the actor and "
    "an audit entry",
    differs="the label `force-eval-bypass` by a person with a role of `policy.bypass.roles`, for this "
    "head alone; the audit entry comes first, in a chain on a branch of its own",
)
def test_the_bypass() -> None:
    facts = LabelFacts(
        label=GateLabel.BYPASS,
        head="a" * 40,
        pull_request=7,
        author="bob",
        events=(
            LabelEvent(
                number=5,
                label=GateLabel.BYPASS,
                added=True,
                by=Account(login="ada", id=1, human=True),
                at="2026-11-21T12:00:00Z",
            ),
        ),
        role="maintain",
        push=Push(after="a" * 40, at="2026-11-21T11:00:00Z"),
    )
    label_decision = rule_on(facts, BypassPolicy())
    assert (label_decision.status, label_decision.use.by.login) == (LabelStatus.GRANTED, "ada")
    results = make_results("a-eval f base:pass head:fail")
    decision = make_report(results, LabelDecisions(found=(label_decision,))).decision
    assert (decision.verdict, decision.exit_code) == (GateVerdict.BYPASSED, 0)
    assert decision.reasons == make_report(results).decision.reasons, "nothing is hidden"
    for edit in ({"role": "write"}, {"push": Push(after="a" * 40, at="2026-11-21T13:00:00Z")}):
        denied = rule_on(facts.model_copy(update=edit), BypassPolicy())
        assert denied.status is not LabelStatus.GRANTED
