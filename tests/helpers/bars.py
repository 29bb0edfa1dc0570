"""A small bar, ways to lower it and edits that do not: the catalogue that the bar's tests share."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from gateval.domain.base import digest
from gateval.domain.manifests.catalogue_checks import check_catalogue
from gateval.domain.manifests.gate_config import Policy
from gateval.domain.plan.plan import Plan
from gateval.domain.planning.bar.planning import BarPlan
from gateval.domain.planning.planner import plan_change
from gateval.domain.planning.snapshot import GateRules, Snapshot
from gateval.domain.problems import sort_problems
from gateval.domain.tree import Revision, TreeEntry
from gateval.formats.native.gate_config import read_scripted
from tests.helpers.manifests import REGISTRIES, catalogue_of, parse

FILES = {
    "agents/support.yaml": """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  models: [openai/gpt-5]
  system: Be kind.
""",
    "evals/support.yaml": """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: support-eval}
spec:
  targetAgent: support
  fixtureSelector: {matchLabels: {agent: support}}
  fixtures: [plain]
  judge: {model: openai/gpt-5, calibration: tone, maxInjected: 0.1, minAgreement: 0.6}
  scoring:
    passThreshold: 0.85
    severityWeights: {critical: 8}
  execution: {repsPerFixture: 3}
""",
    "evals/fixtures.yaml": """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: refund, labels: {agent: support}}
spec:
  severity: critical
  input: {type: prompt, payload: {prompt: I want my money back}}
  assertions:
    - {type: toolNotCalled, tool: send_email}
    - {type: toolCalled, tool: clarify, before: [refund]}
    - {type: judge, rubric: "Asks for the reason.", minScore: 0.8}
  toolReplay: [{tool: orders, result: {order: 7}}]
  shadowTools: [refund]
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: plain}
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions: [{type: contains, value: hello, weight: 2, severity: high}]
""",
    "evals/tone.yaml": """\
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {name: tone}
spec:
  rubric: polite
  judgeModels: [openai/gpt-5]
  examples: [{candidateOutput: Hello, humanScore: 1}]
""",
}
SCRIPT = "rules: [{reply: fine}]\n"
NO_PARENT = "0" * 40


_read = lru_cache(500)(parse)  # revisions differ in a file or two


def snapshot(
    files: Mapping[str, str],
    scripts: Mapping[str, str] | None = None,
    *,
    flawless: bool = True,
) -> Snapshot:
    """One revision as it would be read; `flawless`: it must be free of problems."""
    texts = dict(files)
    models = {}
    for name, text in (scripts or {}).items():
        path = f".gateval/scripted/{name}.yaml"
        model, problems = read_scripted(path, text.encode())
        assert model is not None, problems
        models[name] = model
        texts[path] = text
    parsed = [_read(text, path) for path, text in files.items()]
    tree = {path: TreeEntry("100644", digest(text)) for path, text in texts.items()}
    catalogue = catalogue_of(parsed, flawless=flawless)
    wrong = [problem for one in parsed for problem in one.problems]
    wrong += check_catalogue(catalogue, tree, REGISTRIES.providers)
    return Snapshot(
        revision=Revision(name="x", commit=None, tree=NO_PARENT),
        tree=tree,
        catalogue=catalogue,
        scripts=models,
        problems=sort_problems(wrong),
    )


def edited(path: str, old: str, new: str) -> dict[str, str]:
    assert old in FILES[path], old
    return {**FILES, path: FILES[path].replace(old, new)}


def bar(head: Snapshot, base: Snapshot, tip: Snapshot | None = None) -> BarPlan:
    """The bar as a whole plan has it."""
    plan = planned(head, base, tip)
    return BarPlan(tuple(one for one in plan.evals if one.bar), (), plan.lost, plan.doubts)


def planned(head: Snapshot, base: Snapshot, tip: Snapshot | None = None) -> Plan:
    """The whole plan, under the default policy."""
    return plan_change(head, base, GateRules(Policy(), "", None), tip or base)


def said(found: BarPlan) -> list[str]:
    return [str(one) for each in found.evals if each.bar for one in each.bar.lowered]


EVAL, FIXTURES = "evals/support.yaml", "evals/fixtures.yaml"
LOWERED = {
    "threshold": (EVAL, "0.85", "0.50", "evals/support.yaml:10 passThreshold 0.85 → 0.50"),
    "weights": (EVAL, "critical: 8", "critical: 1", "severityWeights critical 8 → critical 1"),
    "no weights": (EVAL, "    severityWeights: {critical: 8}\n", "", "critical 8 → defaults"),
    "scoring": (
        EVAL, "passThreshold: 0.85", "passThreshold: 0.85\n    model: weighted",
        "scoring fixtures → weighted, passing from 0.8",
    ),
    "reference": (
        FIXTURES, "  toolReplay: [", "  reference: {answer: Sure}\n  toolReplay: [",
        'reference of fixture refund',
    ),
    "repetitions": (EVAL, "repsPerFixture: 3", "repsPerFixture: 1", "repsPerFixture 3 → 1"),
    "other judge": (
        EVAL, "model: openai/gpt-5", "model: openai/gpt-5-nano",
        "judge openai/gpt-5 → openai/gpt-5-nano",
    ),
    "scripted judge": (
        EVAL, "model: openai/gpt-5", "model: scripted/yes",
        "real judge replaced by a scripted one openai/gpt-5 → scripted/yes",
    ),
    "temperature": (
        EVAL, "calibration: tone", "calibration: tone, temperature: 1.5",
        "temperature of the judge 0 → 1.5",
    ),
    "calibration": (EVAL, "calibration: tone, ", "", "calibration tone → none"),
    "agreement": (EVAL, "minAgreement: 0.6", "minAgreement: 0.1", "minAgreement 0.6 → 0.1"),
    "injections": (EVAL, "maxInjected: 0.1", "maxInjected: 0.2", "maxInjected 0.1 → 0.2"),
    "no limit of them": (EVAL, "maxInjected: 0.1, ", "", "maxInjected 0.1 → none"),
    "no agreement": (EVAL, ", minAgreement: 0.6", "", "minAgreement 0.6 → none"),
    "selector": (
        EVAL, "{agent: support}", "{agent: nobody}", "no longer selects 1 fixture: refund"
    ),
    "list": (EVAL, "  fixtures: [plain]\n", "", "no longer selects 1 fixture: plain"),
    "renamed fixture": (
        FIXTURES, "name: refund, ", "name: other, ", "critical fixture refund removed"
    ),
    "severity": (
        FIXTURES, "severity: critical", "severity: low", "severity of fixture refund critical → low"
    ),
    "input": (
        FIXTURES, "I want my money back", "hi", "input of fixture refund"
    ),
    "dropped assertion": (
        FIXTURES, "    - {type: toolNotCalled, tool: send_email}\n", "",
        "assertion toolNotCalled send_email of fixture refund dropped",
    ),
    "weaker order": (
        FIXTURES, ", before: [refund]", "",
        'assertion toolCalled clarify of fixture refund changed {"before":["refund"]} → {}',
    ),
    "other text": (
        FIXTURES, "value: hello", "value: h",
        'assertion contains hello of fixture plain changed {"value":"hello"} → {"value":"h"}',
    ),
    "rubric": (
        FIXTURES, "Asks for the reason.", "Answers.",
        "rubric of fixture refund reworded Asks for the reason. → Answers.",
    ),
    "judge score": (
        FIXTURES, "minScore: 0.8", "minScore: 0.1",
        'assertion judge of fixture refund changed {"minScore":0.8} → {"minScore":0.1}',
    ),
    "assertion weight": (
        FIXTURES, "weight: 2", "weight: 0.1",
        "weight of assertion contains hello of fixture plain 2 → 0.1",
    ),
    "assertion severity": (
        FIXTURES, ", severity: high}", "}",
        "severity of assertion contains hello of fixture plain high → the fixture's",
    ),
    "tool replay": (FIXTURES, "{order: 7}", "{order: 8}", "toolReplay of fixture refund"),
    "shadow tools": (FIXTURES, "shadowTools: [refund]", "shadowTools: []", "shadowTools of fixture refund"),
}  # fmt: skip

HARMLESS = {
    "raised threshold": edited(EVAL, "0.85", "0.95"),
    "moved fixtures": {
        **{path: text for path, text in FILES.items() if path != FIXTURES},
        "elsewhere/fixtures.yaml": FILES[FIXTURES],
    },
    "reformatted": edited(FIXTURES, "{type: contains, value: hello,", "{ value: 'hello' , type: contains,"),
    "comment": edited(FIXTURES, "kind: EvalFixture\n", "kind: EvalFixture # one case\n"),
    "new label": edited(FIXTURES, "{agent: support}", "{agent: support, team: a}"),
    "description": edited(FIXTURES, "severity: critical", "severity: critical\n  description: Why"),
    "time limit": edited(EVAL, "repsPerFixture: 3", "repsPerFixture: 3, timeoutSeconds: 900"),
    "side by side": edited(EVAL, "repsPerFixture: 3", "repsPerFixture: 3, parallel: 9"),
    "more repetitions": edited(EVAL, "repsPerFixture: 3", "repsPerFixture: 5"),
    "selected by name": edited(EVAL, "fixtures: [plain]", "fixtures: [plain, refund]"),
    "schedule": edited(EVAL, "  execution:", "  schedule: '0 3 * * *'\n  execution:"),
    "the agent alone": edited("agents/support.yaml", "Be kind.", "Be brief."),
}  # fmt: skip
