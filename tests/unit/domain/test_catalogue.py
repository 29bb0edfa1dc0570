"""What only shows when manifests stand together: each mistake, its place, and what is no mistake."""

from __future__ import annotations

import dataclasses

import pytest

from gateval.domain.manifests.catalogue import Catalogue, select_fixtures
from gateval.domain.manifests.catalogue_checks import check_catalogue, warnings_of
from gateval.domain.tree import Tree, TreeEntry
from tests.helpers.manifests import REGISTRIES, catalogue_of, parse

FILE, LINK, MODULE = (
    TreeEntry("100644", "a" * 40),
    TreeEntry("120000", "b" * 40),
    TreeEntry("160000", "c" * 40),
)
TREE: Tree = {
    "bots/p.md": FILE,
    "prompts/p.md": TreeEntry("100755", "d" * 40),
    "bots/link.md": LINK,
    "linked": LINK,
    "vendor": MODULE,
}
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: bot}
spec:
  models: [openai/gpt-5]
  system: {file: p.md}
  tools: [{name: one}, {type: two}]
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: bot-eval}
spec:
  targetAgent: bot
  fixtureSelector: {matchLabels: {agent: bot}}
  fixtures: [plain]
  judge: {model: openai/gpt-5, calibration: tone}
"""
FIXTURES = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: labelled, labels: {agent: bot, area: refund}}
spec:
  targetAgent: bot
  input: {type: prompt, payload: {prompt: hi}}
  assertions: [{type: judge, rubric: polite}]
---
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: plain}
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions: [{type: contains, value: hi}]
"""
CALIBRATION = """\
apiVersion: gateval/v1
kind: JudgeCalibration
metadata: {name: tone}
spec:
  rubric: polite
  judgeModels: [openai/gpt-5]
  examples: [{candidateOutput: hello, humanScore: 1}]
"""
FILES = {
    "bots/bot.yaml": AGENT,
    "evals/bot.yaml": EVAL,
    "evals/fixtures.yaml": FIXTURES,
    "evals/tone.yaml": CALIBRATION,
}
COMMAND = "runtime: {type: command, command: [run]}"
DECLARED = "tools: [{name: one}, {type: two}]"


def build(**changes: tuple[str, str]) -> Catalogue:
    """The catalogue above; `agent`, `eval`, `fixtures`, `calibration`: old text → new text."""
    texts = dict(zip(("agent", "eval", "fixtures", "calibration"), FILES.items(), strict=True))
    parsed = []
    for key, (path, text) in texts.items():
        old, new = changes.get(key, ("", ""))
        assert old in text
        parsed.append(parse(text.replace(old, new, 1) if old else text, path))
    return catalogue_of(parsed)


def check(**changes: tuple[str, str]) -> list[str]:
    return [
        str(problem) for problem in check_catalogue(build(**changes), TREE, REGISTRIES.providers)
    ]


def test_a_whole_that_fits_has_no_problems_and_no_warnings() -> None:
    assert check() == []
    assert warnings_of(build()) == ()


def test_look_up_by_name() -> None:
    catalogue = build()
    assert catalogue.agent("bot") is catalogue.agents[0]
    assert catalogue.eval("bot-eval") is catalogue.evals[0]
    assert catalogue.fixture("plain") is catalogue.fixtures[1]
    assert catalogue.calibration("tone") is catalogue.calibrations[0]
    assert catalogue.agent("bot-eval") is None


AGENT_CASES = [
    ("{file: p.md}", "{file: q.md}", "6:12: spec.system.file: The file bots/q.md does not exist in this revision, or is not tracked."),
    ("{file: p.md}", "{file: link.md}", "6:12: spec.system.file: bots/link.md is a symbolic link. Name the file itself."),
    ("{file: p.md}", "{file: /linked/p.md}", "6:12: spec.system.file: linked is a symbolic link. Name the file itself."),
    ("{file: p.md}", "{file: ../vendor/p.md}", "6:12: spec.system.file: vendor is a submodule, which is not read. Copy the file here."),
    ("{file: p.md}", "{file: ../prompts}", "6:12: spec.system.file: The file prompts does not exist in this revision, or is not tracked."),
    ("{file: p.md}", "{file: ../../etc/passwd}", "6:12: spec.system.file: ../../etc/passwd leads out of the repository. Nothing outside it is read."),
    ("{file: p.md}", "{file: '../../\\x07'}", "6:12: spec.system.file: \"../../\\\\x07\" leads out of the repository. Nothing outside it is read."),
    ("{type: two}", "{description: x}", "7:24: spec.tools[1]: This tool has no name. Add `name`."),
    ("{type: two}", "{type: one}", '7:24: spec.tools[1]: The tool "one" stands here twice.'),
    ("models: [openai/gpt-5]", "models: []", '5:3: spec.models: The Agent "bot" names no model. Add spec.models, or a spec.runtime that starts it.'),
    ("models: [openai/gpt-5]", "type: service", '3:18: spec.models: The Agent "bot" names no model. Add spec.models, or a spec.runtime that starts it.'),
    ("[openai/gpt-5]", "[openai/gpt-5, gpt-5]", '5:26: spec.models[1]: "gpt-5" names no provider. Write "provider/model-id".'),
    ("spec:", "spec:\n  runtime: {type: command, command: [run], cwd: ../..}", "5:44: spec.runtime.cwd: ../.. leads out of the repository. Nothing outside it is read."),
    ("spec:", "spec:\n  runtime: {type: command, command: [run], cwd: desk}", "5:44: spec.runtime.cwd: bots/desk is no folder of this revision, or nothing in it is tracked."),
    ("spec:", "spec:\n  runtime: {type: command, command: [run], cwd: p.md}", "5:44: spec.runtime.cwd: bots/p.md is no folder of this revision, or nothing in it is tracked."),
    ("spec:", "spec:\n  runtime: {type: command, command: [run, x], cwd: ../prompt}", "5:47: spec.runtime.cwd: prompt is no folder of this revision, or nothing in it is tracked."),
    ("spec:", "spec:\n  runtime: {command: [run]}", "5:13: spec.runtime.command: A runtime of type model starts no process. Add `type: command`, or remove this."),
    ("spec:", "spec:\n  watch: [a, ../../b]", "5:14: spec.watch[1]: ../../b leads out of the repository. Nothing outside it is read."),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), AGENT_CASES)
def test_an_agent_that_cannot_be_started(old: str, new: str, expected: str) -> None:
    assert check(agent=(old, new)) == [f"bots/bot.yaml:{expected}"]


def test_a_model_whose_provider_nobody_knows() -> None:
    (agent,) = check(agent=("openai/gpt-5", "opnai/gpt-5"))
    assert agent == (
        'bots/bot.yaml:5:12: spec.models[0]: "opnai/gpt-5" names the unknown provider "opnai". '
        'Did you mean "openai"?'
    )
    (judge,) = check(eval=("openai/gpt-5", "zzz/gpt-5"))
    assert judge.endswith('unknown provider "zzz". Known: anthropic, gemini, openai, scripted.')
    assert "spec.judge.model" in judge


@pytest.mark.parametrize(
    "cwd", ["..", ".", "../prompts", "/bots", "../linked", "/linked/in/it", "../vendor"]
)
def test_an_agent_works_in_a_folder_of_the_repository(cwd: str) -> None:
    runtime = f"{{type: command, command: [run, x], cwd: {cwd}}}"
    assert check(agent=("spec:", f"spec:\n  runtime: {runtime}")) == []


def test_an_agent_finds_its_prompt_from_its_folder_or_the_root() -> None:
    assert check(agent=("{file: p.md}", "{file: ../prompts/p.md}")) == []
    assert check(agent=("{file: p.md}", "{file: /prompts/p.md}")) == []


def test_a_service_that_no_eval_targets_needs_no_model() -> None:
    catalogue = build(agent=("models: [openai/gpt-5]", "type: service"))
    assert (
        check_catalogue(dataclasses.replace(catalogue, evals=()), TREE, REGISTRIES.providers) == ()
    )
    template = build(agent=("models: [openai/gpt-5]", "memory: x"))
    assert (
        len(check_catalogue(dataclasses.replace(template, evals=()), TREE, REGISTRIES.providers))
        == 1
    )


EVAL_CASES = [
    ("targetAgent: bot", "targetAgent: bott", [
        'evals/bot.yaml:5:3: spec.targetAgent: There is no Agent "bott". Did you mean "bot"?',
        'evals/fixtures.yaml:5:3: spec.targetAgent: This fixture is for the Agent "bot", but the Eval "bot-eval" at evals/bot.yaml:3:18 selects it and tests "bott".',
    ]),
    ("fixtures: [plain]", "fixtures: [plan]", ['evals/bot.yaml:7:14: spec.fixtures[0]: There is no fixture "plan". Did you mean "plain"?']),
    ("{agent: bot}", "{agent: bto}", ['evals/bot.yaml:6:3: spec.fixtureSelector: No fixture carries these labels: "agent: bto".']),
    ("{agent: bot}", "{agent: bot, area: returns}", ['evals/bot.yaml:6:3: spec.fixtureSelector: No fixture carries these labels: "agent: bot, area: returns".']),
    ("  fixtureSelector: {matchLabels: {agent: bot}}\n  fixtures: [plain]\n", "", ['evals/bot.yaml:3:18: spec.fixtures: The Eval "bot-eval" selects no fixtures. Add fixtures or fixtureSelector.']),
    ("  fixtureSelector: {matchLabels: {agent: bot}}\n  fixtures: [plain]\n", "  fixtures: []\n", ['evals/bot.yaml:6:3: spec.fixtures: The Eval "bot-eval" selects no fixtures. Add fixtures or fixtureSelector.']),
    ("model: openai/gpt-5, ", "", ['evals/bot.yaml:8:3: spec.judge.model: This Eval has no judge, but fixtures of it need one ("labelled"). Add spec.judge.model.']),
    ("calibration: tone", "calibration: ton", ['evals/bot.yaml:8:32: spec.judge.calibration: There is no JudgeCalibration "ton". Did you mean "tone"?']),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "expected"), EVAL_CASES)
def test_an_eval_that_names_what_is_not_there(old: str, new: str, expected: list[str]) -> None:
    assert check(eval=(old, new)) == expected


def test_several_judged_fixtures_are_one_problem() -> None:
    (problem,) = check(
        eval=("model: openai/gpt-5, ", ""),
        fixtures=("{type: contains, value: hi}", "{type: judge, rubric: short}"),
    )
    assert 'fixtures of it need one ("labelled" and 1 more)' in problem


def test_an_eval_without_judged_fixtures_needs_no_judge() -> None:
    changes = {
        "eval": ("  judge: {model: openai/gpt-5, calibration: tone}\n", ""),
        "fixtures": ("{type: judge, rubric: polite}", "{type: contains, value: hi}"),
    }
    assert check(**changes) == []


def test_a_fixture_of_another_agent_cannot_be_selected() -> None:
    (problem,) = check(fixtures=("targetAgent: bot", "targetAgent: other"))
    assert problem == (
        'evals/fixtures.yaml:5:3: spec.targetAgent: This fixture is for the Agent "other", but the '
        'Eval "bot-eval" at evals/bot.yaml:3:18 selects it and tests "bot".'
    )


@pytest.mark.parametrize("key", ["toolReplay: [{tool: x, result: 1}]", "shadowTools: [x]"])
@pytest.mark.parametrize("tools", ["", "tools: [{name: xx}]", "tools: [{name: x, enabled: false}]"])
def test_a_program_without_the_tool_has_nothing_to_be_answered(key: str, tools: str) -> None:
    fixtures = ("targetAgent: bot", f"targetAgent: bot\n  {key}")
    assert check(fixtures=fixtures) == []
    (problem,) = check(fixtures=fixtures, agent=(DECLARED, f"{COMMAND}\n  {tools}"))
    word = key.partition(":")[0]
    assert problem.startswith(
        f'evals/fixtures.yaml:6:3: spec.{word}: The Agent "bot" (runtime command), which the Eval '
        '"bot-eval" tests with this fixture, has no tool "x", so the gate cannot answer for it.'
    )


@pytest.mark.parametrize("key", ["toolReplay: [{tool: x, result: 1}]", "shadowTools: [x]"])
def test_a_program_with_the_tool_is_answered(key: str) -> None:
    fixtures = ("targetAgent: bot", f"targetAgent: bot\n  {key}")
    agent = (DECLARED, f"{COMMAND}\n  tools: [{{name: x}}]")
    assert check(fixtures=fixtures, agent=agent) == []


@pytest.mark.parametrize("path", FILES)
def test_a_name_stands_once_per_kind(path: str) -> None:
    again = parse(FILES[path], "z/again.yaml")
    catalogue = catalogue_of([*(parse(text, name) for name, text in FILES.items()), again])
    problems = check_catalogue(catalogue, {**TREE, "z/p.md": FILE}, REGISTRIES.providers)
    assert [problem.place for problem in problems] == [one.place for one in again.manifests]
    for problem, manifest in zip(problems, again.manifests, strict=True):
        assert problem.path == "metadata.name"
        assert f'The {manifest.kind} "{manifest.name}" stands at {path}:' in problem.message


@pytest.mark.parametrize("path", ["bots/bot.yaml", "evals/fixtures.yaml", "evals/tone.yaml"])
def test_nobody_is_told_that_a_broken_manifest_does_not_exist(path: str) -> None:
    broken = FILES[path].replace("gateval/v1", "gateval/v1\nextra: 1")
    parsed = [parse(broken if name == path else text, name) for name, text in FILES.items()]
    assert len([problem for one in parsed for problem in one.problems]) == broken.count("extra")
    assert check_catalogue(catalogue_of(parsed, flawless=False), TREE, REGISTRIES.providers) == ()


def test_a_broken_eval_is_told_what_it_names_in_vain_all_the_same() -> None:
    broken = (
        EVAL.replace("targetAgent: bot", "extra: 1\n  targetAgent: bott")
        .replace("[plain]", "[plain, plan, 7]")
        .replace("calibration: tone", "calibration: tune")
    )
    texts = {**FILES, "evals/bot.yaml": broken}
    parsed = [parse(text, name) for name, text in texts.items()]
    assert [problem.path for one in parsed for problem in one.problems] == [
        "spec.extra",
        "spec.fixtures[2]",
    ]
    found = check_catalogue(catalogue_of(parsed, flawless=False), TREE, REGISTRIES.providers)
    assert [str(problem) for problem in found] == [
        'evals/bot.yaml:6:3: spec.targetAgent: There is no Agent "bott". Did you mean "bot"?',
        'evals/bot.yaml:8:21: spec.fixtures[1]: There is no fixture "plan". Did you mean "plain"?',
        (
            "evals/bot.yaml:9:32: spec.judge.calibration: There is no JudgeCalibration "
            '"tune". Did you mean "tone"?'
        ),
    ]


def test_different_kinds_may_share_a_name() -> None:
    assert check(calibration=("name: tone", "name: bot"), eval=("calibration: tone", "calibration: bot")) == []  # fmt: skip


def test_fixtures_are_selected_once_and_in_order_of_name() -> None:
    catalogue = build(eval=("[plain]", "[plain, labelled, plain]"))
    selected = select_fixtures(catalogue.evals[0], catalogue)
    assert [fixture.name for fixture in selected] == ["labelled", "plain"]


def test_labels_must_all_fit() -> None:
    catalogue = build()
    names = [one.name for one in catalogue.labelled({"agent": "bot", "area": "refund"})]
    assert names == ["labelled"]
    assert catalogue.labelled({"agent": "bot", "area": "other"}) == ()
    assert catalogue.labelled({}) == ()


def test_warnings() -> None:
    catalogue = build(
        agent=("spec:", "spec:\n  runtime: {type: command, command: [run], cwd: /}"),
        eval=("fixtures: [plain]", "fixtures: [labelled]"),
    )
    assert check_catalogue(catalogue, TREE, REGISTRIES.providers) == ()
    whole_repository, never_runs = warnings_of(catalogue)
    assert str(whole_repository) == (
        'bots/bot.yaml:3:18: Every file of the repository counts as code of the Agent "bot", '
        "because it works in the root. Add spec.watch with those that matter."
    )
    assert str(never_runs) == (
        'evals/fixtures.yaml:11:18: No Eval selects the fixture "plain", so it never runs. '
        'Its labels are "none"; Evals select "agent: bot".'
    )


@pytest.mark.parametrize(
    "runtime", [COMMAND, "runtime: {type: command, command: [run], cwd: /}\n  watch: [src]"]
)
def test_no_warning_where_the_code_is_bounded(runtime: str) -> None:
    assert warnings_of(build(agent=("spec:", f"spec:\n  {runtime}"))) == ()


def test_many_evals_and_fixtures_are_checked_quickly() -> None:
    """Work grows with what is selected, not with Evals times fixtures."""
    (agent,), (evaluation,) = build().agents, build().evals
    fixture = build().fixtures[0]
    catalogue = Catalogue(
        agents=tuple(agent.model_copy(update={"name": f"a{n}"}) for n in range(200)),
        evals=tuple(
            evaluation.model_copy(
                update={
                    "name": f"e{n}",
                    "target_agent": f"a{n}",
                    "fixtures": (),
                    "fixture_selector": evaluation.fixture_selector.model_copy(
                        update={"match_labels": {"agent": f"a{n}"}}
                    ),
                }
            )
            for n in range(200)
            if evaluation.fixture_selector
        ),
        fixtures=tuple(
            fixture.model_copy(
                update={"name": f"f{n}", "labels": {"agent": f"a{n % 200}"}, "target_agent": None}
            )
            for n in range(20_000)
        ),
        calibrations=build().calibrations,
    )
    assert check_catalogue(catalogue, TREE, REGISTRIES.providers) == ()
    assert len(select_fixtures(catalogue.evals[7], catalogue)) == 100
