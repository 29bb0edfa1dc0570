"""Every way a manifest can be wrong: the sentence, the path, and line and column of the culprit."""

from __future__ import annotations

import textwrap
import time

import pytest

from gateval.domain.problems import Problem, SourceLocation
from gateval.formats.base import Parsed
from gateval.formats.problems import PROBLEM_LIMIT
from tests.helpers.manifests import parse, problems

FIXTURE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata:
  name: f
spec:
  input: {type: prompt, payload: {prompt: hi}}
  assertions:
    - {type: contains, value: hi}
"""
EVAL = """\
apiVersion: gateval/v1
kind: Eval
metadata:
  name: e
spec:
  targetAgent: a
  fixtures: [f]
"""
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata:
  name: a
spec:
  models: [openai/gpt-5]
"""
CALIBRATION = """\
apiVersion: gateval/v1
kind: JudgeCalibration
metadata:
  name: c
spec:
  rubric: polite
  judgeModels: [openai/gpt-5]
  examples: [{candidateOutput: hello, humanScore: 1}]
"""

CASES = [
    # the head of a document
    (FIXTURE, "kind: EvalFixture", "kind: EvalFixtur", '2:7 kind: Unknown kind "EvalFixtur". Did you mean "EvalFixture"?'),
    (FIXTURE, "kind: EvalFixture\n", "", '1:1 kind: The required key "kind" is missing.'),
    (FIXTURE, "kind: EvalFixture", "kind: [x]", "2:7 kind: Expected text, got a list."),
    (FIXTURE, "gateval/v1", "gateval/v2", '1:13 apiVersion: Unknown apiVersion "gateval/v2". Did you mean "gateval/v1"?'),
    (FIXTURE, "gateval/v1", "gateval/v1beta1", '1:13 apiVersion: Unknown apiVersion "gateval/v1beta1". Did you mean "gateval/v1"?'),
    (FIXTURE, "spec:", "status: {x: 1}\nspec:", '5:1 status: Unknown key "status". Known here: apiVersion, metadata, kind and spec.'),
    (FIXTURE, "metadata:\n  name: f\n", "", '1:1 metadata: The required key "metadata" is missing.'),
    (FIXTURE, "  name: f\n", "", "3:1 metadata: Expected a mapping, got nothing."),
    (FIXTURE, "name: f", "name: f\n  label: {}", '5:3 metadata.label: Unknown key "label". Did you mean "labels"?'),
    (FIXTURE, "name: f", "name: 7", "4:9 metadata.name: Expected text, got number 7. Put it in quotes."),
    (FIXTURE, "name: f", "name: My_Fixture", '4:9 metadata.name: "My_Fixture" is no valid name: use lower-case letters, digits, "-" and ".", and begin and end with a letter or digit.'),
    (FIXTURE, "name: f", f"name: {'f' * 254}", "4:9 metadata.name: Must have at most 253 characters."),
    (FIXTURE, "name: f", "name: f\n  labels: {version: 1.0}", "5:21 metadata.labels.version: Expected text, got number 1.0. Put it in quotes."),
    (FIXTURE, "name: f", "name: f\n  labels: {app.io/a: yes, app.io/b: true}", '5:37 metadata.labels["app.io/b"]: Expected text, got true. Put it in quotes.'),
    (FIXTURE, "name: f", "name: f\n  uid: 1", '5:3 metadata.uid: Unknown key "uid". Known here: name, namespace, labels and annotations.'),
    # fixtures
    (FIXTURE, "spec:", "spec:\n  serverity: low", '6:3 spec.serverity: Unknown key "serverity". Did you mean "severity"?'),
    (FIXTURE, "spec:", "spec:\n  target_agent: a", '6:3 spec.target_agent: Unknown key "target_agent". Did you mean "targetAgent"?'),
    (FIXTURE, "spec:", "spec:\n  severity: hihg", '6:13 spec.severity: "hihg" is not known here. Expected low, medium, high or critical. Did you mean "high"?'),
    (FIXTURE, "spec:", "spec:\n  severity: 3", "6:13 spec.severity: Expected low, medium, high or critical, got number 3."),
    (FIXTURE, "spec:", "spec:\n  kind: good", '6:9 spec.kind: "good" is not known here. Expected golden, bad or edge. Did you mean "golden"?'),
    (FIXTURE, "spec:", "spec:\n  description:", "6:3 spec.description: Expected text, got nothing."),
    (FIXTURE, "spec:", "spec:\n  toolReplay: {tool: x}", "6:15 spec.toolReplay: Expected a list, got a mapping."),
    (FIXTURE, "payload: {prompt: hi}", "payload: {prompt: hi}, turns: [hi]", '6:48 spec.input.turns: Unknown key "turns". It stands beside "input", under "spec".'),
    (FIXTURE, "payload: {prompt: hi}", "payload: {prompt: hi}, input: hi", '6:48 spec.input.input: Unknown key "input". Known here: type, payload and messages.'),
    (FIXTURE, "value: hi", "value: hi, pattern: hi", '8:35 spec.assertions[0].pattern: Unknown key "pattern". Known here: value, type, weight, severity, name, required and axis.'),
    (FIXTURE, "spec:", "spec:\n  origin: {traceID: x}", '6:12 spec.origin.traceID: Unknown key "traceID". Did you mean "traceId"?'),
    (FIXTURE, "type: prompt", "type: mail", '6:17 spec.input.type: "mail" is not known here. Expected webhook, prompt, telegram, slack or email. Did you mean "email"?'),
    (FIXTURE, "payload: {prompt: hi}", "payload: hi", '6:34 spec.input.payload: Expected a mapping, got text "hi".'),
    (FIXTURE, ", payload: {prompt: hi}", "", '6:3 spec.input.payload: The required key "payload" is missing.'),
    (FIXTURE, "  assertions:\n    - {type: contains, value: hi}\n", "", '5:1 spec.assertions: The required key "assertions" is missing.'),
    (FIXTURE, "    - {type: contains, value: hi}\n", "    []\n", "8:5 spec.assertions: Must have at least 1 entry."),
    (FIXTURE, "spec:", "spec:\n  turns: [{user: ' '}]", "6:18 spec.turns[0].user: The user says nothing in this turn."),
    (FIXTURE, "spec:", "spec:\n  turns: [{user: y, usr: x}]", '6:21 spec.turns[0].usr: Unknown key "usr". Did you mean "user"?'),
    (FIXTURE, "spec:", "spec:\n  turns: [{user: x, assertions: [{type: contain, value: x}]}]", '6:41 spec.turns[0].assertions[0].type: Unknown assertion type "contain". Did you mean "contains"?'),
    (FIXTURE, "payload: {prompt: hi}", "messages: [{role: assistant, content: hi}]", "6:36 spec.input.messages[0]: The last message has to be the user's: the agent answers it."),
    (FIXTURE, "payload: {prompt: hi}", "messages: [{role: user}]", "6:36 spec.input.messages[0]: It says nothing: give it `content`."),
    (FIXTURE, "payload: {prompt: hi}", "messages: [{role: tool, content: x}]", "6:36 spec.input.messages[0]: A `tool` message, and no other, has `toolCallId`."),
    (FIXTURE, "- {type: contains, value: hi}", "- contains", '8:7 spec.assertions[0]: Expected a mapping, got text "contains".'),
    (FIXTURE, "type: contains, ", "", '8:7 spec.assertions[0].type: The required key "type" is missing.'),
    (FIXTURE, "type: contains", "type: 5", "8:14 spec.assertions[0].type: Expected text, got number 5. Put it in quotes."),
    (FIXTURE, "type: contains", "type: contain", '8:14 spec.assertions[0].type: Unknown assertion type "contain". Did you mean "contains"?'),
    (FIXTURE, "type: contains", "type: vibes", '8:14 spec.assertions[0].type: Unknown assertion type "vibes". Known: toolCalled, toolNotCalled, toolSequence, contains, notContains, regex, cost, judge and similar.'),
    (FIXTURE, "value: hi", "value: 42", "8:31 spec.assertions[0].value: Expected text, got number 42. Put it in quotes."),
    (FIXTURE, "value: hi", "value: hi, wieght: 2", '8:35 spec.assertions[0].wieght: Unknown key "wieght". Did you mean "weight"?'),
    (FIXTURE, "value: hi", "value: hi, weight: 0.0001", "8:43 spec.assertions[0].weight: Must be 0, or at least 0.001, but is 0.0001."),
    (FIXTURE, "value: hi", 'value: hi, weight: "2"', '8:43 spec.assertions[0].weight: Expected a number, got text "2".'),
    (FIXTURE, "value: hi", "value: hi, severity: top", '8:45 spec.assertions[0].severity: "top" is not known here. Expected low, medium, high or critical.'),
    (FIXTURE, "contains, value: hi", 'regex, pattern: "(a"', "8:30 spec.assertions[0].pattern: this pattern opens a group."),
    (FIXTURE, "contains, value: hi", "toolSequence, tools: []", "8:35 spec.assertions[0].tools: Must have at least 1 entry."),
    (FIXTURE, "contains, value: hi", "toolCalled, tool: x, before: y", '8:43 spec.assertions[0].before: Expected a list, got text "y".'),
    (FIXTURE, "contains, value: hi", "cost, maxTokens: 1.5", "8:31 spec.assertions[0].maxTokens: Expected a whole number, got number 1.5."),
    (FIXTURE, "contains, value: hi", "judge, rubric: x, minScore: 5", "8:42 spec.assertions[0].minScore: Must be at most 1, but is 5."),
    # Evals
    (EVAL, "fixtures: [f]", "fixtures: [f]\n  judge: {model: openai/a, escalate: {model: openai/b, band: [0.3]}}", "8:56 spec.judge.escalate.band[1]: The list ends before item 2."),
    (EVAL, "  targetAgent: a\n", "", '5:1 spec.targetAgent: The required key "targetAgent" is missing.'),
    (EVAL, "spec:", "spec:\n  judge: {model: gpt-5}", '6:18 spec.judge.model: "gpt-5" names no provider: write "provider/model-id", for example "openai/gpt-5".'),
    (EVAL, "spec:", "spec:\n  scoring: {passThreshold: 85}", "6:28 spec.scoring.passThreshold: Must be at most 1, but is 85."),
    (EVAL, "spec:", "spec:\n  scoring: {severityWeights: {hgih: 1}}", '6:31 spec.scoring.severityWeights.hgih: "hgih" is not known here. Expected low, medium, high or critical. Did you mean "high"?'),
    (EVAL, "spec:", "spec:\n  scoring: {severityWeights: {low: -1}}", "6:36 spec.scoring.severityWeights.low: Must be at least 0.001, but is -1."),
    (EVAL, "spec:", 'spec:\n  execution: {parallel: "3"}', '6:25 spec.execution.parallel: Expected a whole number, got text "3".'),
    (EVAL, "spec:", "spec:\n  execution: {parallel: 0}", "6:25 spec.execution.parallel: Must be at least 1, but is 0."),
    (EVAL, "spec:", "spec:\n  execution: {timeoutSeconds: true}", "6:31 spec.execution.timeoutSeconds: Expected a number, got true."),
    (EVAL, "spec:", "spec:\n  execution: {repsPerFixtures: 2}", '6:15 spec.execution.repsPerFixtures: Unknown key "repsPerFixtures". Did you mean "repsPerFixture"?'),
    (EVAL, "spec:", "spec:\n  schedule: daily", "6:13 spec.schedule: A schedule has five fields (minute, hour, day, month, day of the week); this has 1."),
    (EVAL, "spec:", "spec:\n  sealed: yes", '6:11 spec.sealed: Expected true or false, got text "yes".'),
    (EVAL, "spec:", "spec:\n  fixtureSelector: {matchLabels: {}}", "6:34 spec.fixtureSelector.matchLabels: Must have at least 1 entry."),
    (EVAL, "fixtures: [f]", "fixtures: f", '7:13 spec.fixtures: Expected a list, got text "f".'),
    # Agents
    (AGENT, "models: [openai/gpt-5]", "models: openai/gpt-5", '6:11 spec.models: Expected a list, got text "openai/gpt-5".'),
    (AGENT, "spec:", "spec:\n  system: 5", "6:11 spec.system: Expected text or a mapping, got number 5."),
    (AGENT, "spec:", "spec:\n  system: {fiel: p.md, file: p.md}", '6:12 spec.system.fiel: Unknown key "fiel". Did you mean "file"?'),
    (AGENT, "spec:", "spec:\n  tools: [bash]", '6:11 spec.tools[0]: Expected a mapping, got text "bash".'),
    (AGENT, "spec:", "spec:\n  watch: src", '6:10 spec.watch: Expected a list, got text "src".'),
    (AGENT, "spec:", "spec:\n  runtime: command", '6:12 spec.runtime: Expected a mapping, got text "command".'),
    (AGENT, "spec:", "spec:\n  runtime: {type: comand}", '6:19 spec.runtime.type: Unknown runtime "comand". Did you mean "command"?'),
    (AGENT, "spec:", "spec:\n  runtime: {type: 3}", "6:19 spec.runtime.type: Expected text, got number 3. Put it in quotes."),
    (AGENT, "spec:", "spec:\n  runtime: {type: command, command: run.py}", '6:37 spec.runtime.command: Expected a list, got text "run.py". Write [run.py]; no shell reads it.'),
    (AGENT, "spec:", "spec:\n  runtime: {type: command, comand: [x]}", '6:28 spec.runtime.comand: Unknown key "comand". Did you mean "command"?'),
    (AGENT, "spec:", "spec:\n  runtime: {type: command, options: {}}", '6:28 spec.runtime.options: Unknown key "options". Known here: type, cwd, setup, command, env, conversation, before, after, services, workdir and redirect.'),
    (AGENT, "spec:", "spec:\n  runtime: {type: model, redirect: true}", "6:36 spec.runtime.redirect: The gate runs this agent itself, and there is no program for `redirect`."),
    (AGENT, "spec:", 'spec:\n  runtime: {type: command, command: [x], cwd: "{playground}", workdir: copy}', "6:72 spec.runtime.workdir: It works in the trial's playground, which it may write. Remove `workdir`."),
    (AGENT, "spec:", "spec:\n  runtime: {type: command, env: {PORT: 80}}", "6:40 spec.runtime.env.PORT: Expected text, got number 80. Put it in quotes."),
    (AGENT, "spec:", "spec:\n  runtime: {type: command, env: {A-B: x}}", '6:39 spec.runtime.env.A-B: "A-B" cannot name a variable.'),
    (AGENT, "spec:", 'spec:\n  runtime: {type: command, command: [a, "b\\0c"]}', "6:41 spec.runtime.command[1]: A NUL character cannot stand here."),
    (AGENT, "spec:", 'spec:\n  runtime: {type: command, cwd: "a\\0"}', "6:33 spec.runtime.cwd: A NUL character cannot stand here."),
    (AGENT, "spec:", 'spec:\n  runtime: {type: command, env: {CRM_TOKEN: "${{ secrets.CRM }}"}}', '6:45 spec.runtime.env.CRM_TOKEN: "${{ secrets.CRM }}" is an expression of a workflow, which nobody fills in here. Set CRM_TOKEN in the environment of the gate, remove it here, and name it in policy.candidateEnv of .github/gateval.yml.'),
    (AGENT, "spec:", 'spec:\n  runtime: {type: command, env: {K: "${{secrets.OPENAI_API_KEY}}"}}', '6:37 spec.runtime.env.K: "${{secrets.OPENAI_API_KEY}}" is an expression of a workflow, which nobody fills in here. A program reaches models without their keys; for another one, set K in the environment of the gate, remove it here, and name it in policy.candidateEnv of .github/gateval.yml.'),
    (AGENT, "spec:", 'spec:\n  runtime: {type: command, services: [{name: db, command: [db], env: {URL: "x ${{ vars.URL }}"}}]}', '6:76 spec.runtime.services[0].env.URL: "${{ vars.URL }}" is an expression of a workflow, which nobody fills in here. Set URL in the environment of the gate, remove it here, and name it in policy.candidateEnv of .github/gateval.yml.'),
    (AGENT, "spec:", 'spec:\n  runtime: {type: command, services: [{name: db, command: [db], env: {A-B: x}}]}', '6:76 spec.runtime.services[0].env.A-B: "A-B" cannot name a variable.'),
    (AGENT, "spec:", 'spec:\n  runtime: {type: command, services: [{name: db, command: ["\\0"]}]}', "6:60 spec.runtime.services[0].command[0]: A NUL character cannot stand here."),
    (AGENT, "spec:", "spec:\n  runtime: {type: command, services: [{name: My_DB, command: [db]}]}", '6:46 spec.runtime.services[0].name: "My_DB" does not match the pattern ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$.'),
    (AGENT, "spec:", "spec:\n  runtime: {type: command, before: python reset.py}", '6:36 spec.runtime.before: Expected a list, got text "python reset.py". Write [python, reset.py]; no shell reads it.'),
    # calibrations
    (CALIBRATION, "humanScore: 1", "humanScore: 2", "8:51 spec.examples[0].humanScore: Must be at most 1, but is 2."),
    (CALIBRATION, "rubric: polite", 'rubric: ""', "6:11 spec.rubric: Must have at least 1 character."),
    (CALIBRATION, "[openai/gpt-5]", "[gpt-5]", '7:17 spec.judgeModels[0]: "gpt-5" names no provider: write "provider/model-id", for example "openai/gpt-5".'),
    (CALIBRATION, "humanScore: 1", "humanScore: 1, score: 1", '8:54 spec.examples[0].score: Unknown key "score". Known here: traceRef, input, trace, candidateOutput, humanScore, humanLabel, disagreementReason, expected, reference and origin.'),
]  # fmt: skip

# A misspelled key that is required: both are told, what is missing and what stands in its place.
PAIRS = [
    (FIXTURE, "name: f", "nam: f", ["3:1", '4:3: metadata.nam: Unknown key "nam". Did you mean "name"?']),
    (FIXTURE, "spec:", "spec:\n  toolReplay: [{tol: x}]", ["6:16", '6:17: spec.toolReplay[0].tol: Unknown key "tol". Did you mean "tool"?']),
    (FIXTURE, "value: hi", "valeu: hi", ["8:7", '8:24: spec.assertions[0].valeu: Unknown key "valeu". Did you mean "value"?']),
    (EVAL, "spec:", "spec:\n  fixtureSelector: {agent: a}", ["6:3", '6:21: spec.fixtureSelector.agent: Unknown key "agent". Known here: matchLabels.']),
    (AGENT, "spec:", "spec:\n  runtime: {type: service, ready: {pth: /}}", ["6:28", '6:36: spec.runtime.ready.pth: Unknown key "pth". Did you mean "path"?']),
    (AGENT, "spec:", "spec:\n  system: {fiel: p.md}", ["6:3", '6:12: spec.system.fiel: Unknown key "fiel". Did you mean "file"?']),
]  # fmt: skip


@pytest.mark.parametrize(("text", "old", "new", "expected"), PAIRS)
def test_a_misspelled_required_key(text: str, old: str, new: str, expected: list[str]) -> None:
    missing, unknown = problems(text.replace(old, new, 1))
    assert missing.startswith(f"{expected[0]}: ")
    assert " is missing." in missing
    assert unknown == expected[1]


@pytest.mark.parametrize(("text", "old", "new", "expected"), CASES)
def test_a_mistake_is_named_where_it_is(text: str, old: str, new: str, expected: str) -> None:
    assert problems(text) == []
    assert old in text
    place, _, rest = expected.partition(" ")
    assert problems(text.replace(old, new, 1)) == [f"{place}: {rest}"]


def test_all_mistakes_of_all_documents_are_told_in_one_go() -> None:
    text = "---\n".join(
        [
            FIXTURE.replace("name: f", "name: F").replace("value: hi", "valu: hi"),
            EVAL.replace("targetAgent: a", "targetAgent: A_"),
            AGENT.replace("models: [", "models: [3, "),
            "apiVersion: gateval/v1\nkind: Evall\n",
        ]
    )
    assert [line.split(":")[0] for line in problems(text)] == ["4", "8", "8", "15", "23", "26"]
    assert parse(text).manifests == ()


def test_a_good_manifest_beside_a_broken_one_is_read() -> None:
    parsed = parse(FIXTURE + "---\n" + EVAL.replace("fixtures: [f]", "fixtures: f"))
    assert [one.name for one in parsed.manifests] == ["f"]
    assert len(parsed.problems) == 1


def test_one_mistake_gives_one_problem() -> None:
    """What only follows from unusable YAML at the same place is not told again."""
    text = EVAL.replace("spec:", "spec:\n  execution: {timeoutSeconds: .inf}")
    (message,) = problems(text)
    assert message.startswith("6:31: spec.execution.timeoutSeconds: .inf is no number")


def test_a_manifest_with_yaml_problems_is_not_returned() -> None:
    parsed = parse(FIXTURE.replace("spec:", "spec:\n  severity: low\n  severity: high"))
    assert parsed.manifests == ()
    assert str(parsed.problems[0]).endswith(
        'The key "severity" stands here twice, first in line 6.'
    )


FLOODS = {
    "keys": EVAL + "".join(f"  x{number}: 1\n" for number in range(15_000)),
    "assertions": FIXTURE + "    - {type: contain, valu: x}\n" * 5_000,
    "documents": "---\n".join(["apiVersion: gateval/v1\nkind: Evall\n"] * 5_000),
    "duplicate keys": EVAL + "  sealed: true\n" * 15_000,
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_mistakes_is_cut(name: str) -> None:
    began = time.process_time()
    found = parse(FLOODS[name]).problems
    assert time.process_time() - began < 4
    assert len(found) == PROBLEM_LIMIT + 1
    assert found[-1].message == "Further problems in this file are not shown."


def test_what_strangers_wrote_is_cut_and_kept_on_one_line() -> None:
    text = FIXTURE.replace("type: contains", 'type: "' + "x\\n\\u202e" * 5_000 + '"')
    (message,) = problems(text)
    assert len(message) < 400
    assert message.isprintable()


DOCUMENTS_OF_OTHERS = textwrap.dedent("""\
    apiVersion: pai.io/v1
    kind: ModelProvider
    metadata: {name: anthropic}
    spec: {provider: anthropic, provider: twice, x: !Ref y}
    ---
    apiVersion: pai.io/v1
    kind: AgentWorkload
    ---
    apiVersion: apps/v1
    kind: Agent
    metadata: {annotations: {about: gateval/v1}}
    ---
    - gateval/v1
    ---
    gateval/v1
    ---
    apiVersion: [gateval/v1]
    """)


def test_documents_of_others_are_left_alone() -> None:
    assert parse(DOCUMENTS_OF_OTHERS) == Parsed((), ())


TYPOS = {
    "no v": ("gateval/1", 'Unknown apiVersion "gateval/1". Did you mean "gateval/v1"?'),
    "a letter": ("gatevl/v1", 'Unknown apiVersion "gatevl/v1". Did you mean "gateval/v1"?'),
    "two letters": ("gatveal/v1", 'Unknown apiVersion "gatveal/v1". Did you mean "gateval/v1"?'),
    "no version": ("gateval", 'Unknown apiVersion "gateval". Did you mean "gateval/v1"?'),
    "other case": ("Gateval/V1", 'Unknown apiVersion "Gateval/V1".'),
    "a domain": ("gateval.io/v1", 'Unknown apiVersion "gateval.io/v1". Did you mean "gateval/v1"?'),
    "pai": ("pai.io/v2", 'Unknown apiVersion "pai.io/v2". Did you mean "pai.io/v1"?'),
    "pai, a letter": ("pia.io/v1", 'Unknown apiVersion "pia.io/v1". Did you mean "pai.io/v1"?'),
    "the version alone": ("v1", 'Unknown apiVersion "v1".'),
    "a number": ("1", "Expected text, got number 1. Put it in quotes."),
    "nothing": ("", 'The required key "apiVersion" is missing.'),
}


@pytest.mark.parametrize("typo", TYPOS)
def test_a_document_that_is_almost_ours_is_not_passed_over(typo: str) -> None:
    version, message = TYPOS[typo]
    text = EVAL.replace("gateval/v1", version)
    (found,) = problems(text)
    assert found.startswith("1:"), found
    assert message in found
    assert parse(text).broken[0].kind == ""


@pytest.mark.parametrize("kind", ["Agent", "Eval", "EvalFixture", "JudgeCalibration"])
def test_a_missing_version_is_told(kind: str) -> None:
    text = f"kind: {kind}\nmetadata: {{name: a}}\nspec: {{}}\n"
    assert problems(text) == [
        '1:1: apiVersion: The required key "apiVersion" is missing. Write gateval/v1.'
    ]


@pytest.mark.parametrize(
    "version",
    [
        "kagent.dev/v1alpha1",
        "agent.k8s.elastic.co/v1alpha1",
        "gateway.networking.k8s.io/v1",
        "apps/v1",
        "argoproj.io/v1alpha1",
        "example.com/v1",
    ],
)
def test_an_agent_of_others_is_left_alone(version: str) -> None:
    text = f"apiVersion: {version}\nkind: Agent\nmetadata: {{name: a}}\nspec: {{x: 1}}\n"
    assert parse(text) == Parsed((), ())
    ours = EVAL.partition("---")[0]
    assert parse(f"{ours}---\n{text}").problems == parse(ours).problems


def test_a_file_without_a_known_version_is_not_even_read() -> None:
    assert parse("a: [\n") == Parsed((), ())


@pytest.mark.parametrize("kind", ["EvalFixtures", "evals", "agent", "JUDGECALIBRATION"])
def test_a_misspelled_kind_of_pai_is_not_left_alone(kind: str) -> None:
    (message,) = problems(f"apiVersion: pai.io/v1\nkind: {kind}\n")
    assert message.startswith(f'2:7: kind: Unknown kind "{kind}".')


def test_a_status_from_an_export_is_left_alone() -> None:
    text = FIXTURE.replace("gateval/v1", "pai.io/v1")
    with_status = text + "status: {phase: Passed, lastScore: 1.0}\n"
    assert parse(with_status) == parse(text)
    assert parse(with_status).problems == ()


def test_an_agent_tolerates_what_other_generations_know() -> None:
    text = AGENT.replace("name: a", "name: a\n  uid: 7\n  generation: 3").replace(
        "spec:", "spec:\n  type: service\n  guards: [{binding: x}]\n  tools: [{type: b, extra: 1}]"
    )
    (agent,) = parse(text).manifests
    assert agent.kind == "Agent"
    assert agent.spec.model_extra == {"type": "service", "guards": [{"binding": "x"}]}
    assert agent.spec.tools[0].model_extra == {"extra": 1}
    assert set(agent.places) >= {"spec.type", "spec.guards", "spec.guards[0]", "spec.tools"}


def test_a_runtime_keeps_its_own_options() -> None:
    runtime = "runtime: {type: service, command: [run], ready: {path: /up}, instances: 2}"
    (agent,) = parse(AGENT.replace("spec:", f"spec:\n  {runtime}")).manifests
    assert agent.kind == "Agent"
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.command == ("run",)
    assert agent.spec.runtime.options == {"ready": {"path": "/up"}, "instances": 2}


def test_a_path_that_is_not_utf8_is_refused() -> None:
    parsed = parse(FIXTURE, "evals/\udce4.yaml")
    assert parsed.manifests == ()
    assert parsed.problems == (
        Problem(
            place=SourceLocation(file='"evals/\\344.yaml"'),
            message="The name of this file is not UTF-8, so results could not name it. Rename it.",
        ),
    )
    assert parse(DOCUMENTS_OF_OTHERS, "evals/\udce4.yaml") == Parsed((), ())
