"""Eval cases: the page itself."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from gateval.adapters.git.sources import GitSources
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.messages import Role, text_of
from gateval.domain.tree import LOCK_PATH
from gateval.pipeline.manifests import Pinned
from tests.compat.rows import states
from tests.helpers.agentv import agentv, problems, read, read_with
from tests.helpers.foreign import elsewhere
from tests.helpers.repo import Repo

KIND = hashlib.sha256(b"Be kind.\n").hexdigest()
PAGE = """\
evalcases:
  - id: addition
    expected_outcome: Correctly calculates 15 + 27 = 42
    input: What is 15 + 27?
    expected_output: "42"
"""


def only(repo: Repo) -> Fixture:
    snapshot = read(repo)
    assert snapshot.problems == ()
    (fixture,) = snapshot.catalogue.fixtures
    return fixture


def case(tmp_path: Path, body: str, **files: str) -> Fixture:
    """The fixture of a case with this body, indented by four, in `evals/suite.yaml`."""
    suite = f"evalcases:\n  - id: one\n    expected_outcome: Good\n{body}"
    return only(agentv(tmp_path / "repo", {"evals/suite.yaml": suite, **files}))


@states("`evalcases` holds the individual test cases of an evaluation file")
@states("`id`: required, a unique identifier for the eval case")
@states("`expected_outcome`: required, what a correct response should contain")
@states("`input`: required, sent to the target")
@states("`expected_output`: optional, the expected response for comparison")
def test_the_basic_structure(tmp_path: Path) -> None:
    snapshot = read(agentv(tmp_path / "repo", {"evals/math.yaml": PAGE}))
    assert snapshot.problems == ()
    (fixture,), (evaluation,) = snapshot.catalogue.fixtures, snapshot.catalogue.evals
    assert (evaluation.name, evaluation.fixtures) == ("evals.math", ("evals.math",))
    assert fixture.name == "evals.math-addition"
    assert fixture.input.prompt == "What is 15 + 27?"
    assert fixture.reference is not None
    assert fixture.reference.outcome == "Correctly calculates 15 + 27 = 42"
    assert fixture.reference.text == "42"
    assert fixture.reference.case == "addition"
    assert (fixture.place.file, fixture.place.line) == ("evals/math.yaml", 2)


@pytest.mark.parametrize("key", ["id", "expected_outcome", "input"])
@states(
    "A case without a required field is skipped with a message",
    differs="it is an error with its line: a case that is passed over is a gate that looks at "
    "nothing",
)
def test_a_required_field_is_missing(key: str, tmp_path: Path) -> None:
    lines = [line for line in PAGE.splitlines() if f" {key}:" not in line]
    text = "\n".join(lines).replace("    expected_outcome", "  - expected_outcome", key == "id")
    (said,) = problems(agentv(tmp_path / "repo", {"evals/math.yaml": f"{text}\n"}))
    assert said.startswith("evals/math.yaml:2:")
    assert f'The required key "{key}" is missing.' in said


@states("Ids are unique")
def test_an_id_stands_twice(tmp_path: Path) -> None:
    twice = f"{PAGE}  - {{id: addition, expected_outcome: Good, input: Hello}}\n"
    (said,) = problems(agentv(tmp_path / "repo", {"evals/math.yaml": twice}))
    assert said.startswith("evals/math.yaml:6:10: evalcases[1].id: ")
    assert 'The case "addition" stands at evals/math.yaml:2:9 already.' in said


@states("A string `input` expands to a single user message")
def test_a_string_is_a_user_message(tmp_path: Path) -> None:
    asked = case(tmp_path, "    input: What is 15 + 27?\n").input
    assert asked.payload == {"prompt": "What is 15 + 27?"}
    assert asked.messages == ()


@states("`input` is a string, an object or a message array")
@states("For multi-turn or system messages, `input` is a message array")
@states("A message has a role (`system`, `user`, `assistant`, `tool`) and content")
def test_inputs_of_every_form(tmp_path: Path) -> None:
    asked = case(
        tmp_path,
        "    input:\n"
        "      - {role: system, content: You are a math tutor.}\n"
        "      - {role: user, content: What is 15?}\n"
        "      - role: assistant\n"
        "        content: Let me see.\n"
        "        tool_calls: [{tool: calc, input: {a: 15}, output: 15}]\n"
        "      - {role: user, content: {and: 27}}\n",
    ).input
    roles = [message.role for message in asked.messages]
    assert roles == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL, Role.USER]
    (call,) = asked.messages[2].tool_calls
    assert (call.tool, call.arguments) == ("calc", {"a": 15})
    assert (asked.messages[3].tool_call_id, asked.messages[3].content) == (call.id, "15")
    assert json.loads(asked.prompt) == {"and": 27}
    told = case(tmp_path / "object", "    input: {a: 15, b: 27}\n").input
    assert json.loads(told.prompt) == {"a": 15, "b": 27}
    alone = case(tmp_path / "message", "    input: {role: user, content: Hello}\n").input
    assert alone.prompt == "Hello"


@states("`input_messages` is an alias of `input`, `expected_messages` of `expected_output`")
def test_aliases(tmp_path: Path) -> None:
    fixture = case(
        tmp_path,
        "    input_messages: [{role: user, content: Hello}]\n"
        "    expected_messages: [{role: assistant, content: Hi}]\n",
    )
    assert fixture.input.prompt == "Hello"
    assert fixture.reference is not None
    assert fixture.reference.text == "Hi"


@states("`expected_output` is a string, an object or a message array")
@states("A string `expected_output` expands to a single assistant message")
@states("For structured or multi-message expected output, use a message array")
def test_expected_outputs_of_every_form(tmp_path: Path) -> None:
    def expected(name: str, written: str) -> list[object]:
        fixture = case(tmp_path / name, f"    input: Hello\n    expected_output: {written}\n")
        assert fixture.reference is not None
        return [*fixture.reference.messages]

    assert expected("text", '"42"') == [{"role": "assistant", "content": "42"}]
    assert expected("object", "{risk: high}") == [
        {"role": "assistant", "content": {"risk": "high"}}
    ]
    assert expected("list", "[{role: assistant, content: A}, {role: assistant, content: B}]") == [
        {"role": "assistant", "content": "A"},
        {"role": "assistant", "content": "B"},
    ]


@states("`execution` overrides the target of a case")
@states("`execution.evaluators` of a case take the place of the suite's")
def test_overrides_of_a_case(tmp_path: Path) -> None:
    suite = """\
execution:
  target: default
  evaluators: [{name: shared, type: llm_judge, prompt: Is it good?}]
evalcases:
  - {id: usual, expected_outcome: Good, input: Hello}
  - id: complex-case
    expected_outcome: Provides detailed explanation
    input: Explain quicksort algorithm
    execution:
      target: other
      evaluators:
        - name: depth_check
          type: llm_judge
          prompt: ./judges/depth.md
"""
    files = {"evals/suite.yaml": suite, "evals/judges/depth.md": "How deep is it?\n"}
    snapshot = read(agentv(tmp_path / "repo", files))
    assert snapshot.problems == ()
    evals = {one.name: (one.target_agent, one.fixtures) for one in snapshot.catalogue.evals}
    assert evals == {
        "evals.suite": ("default", ("evals.suite-usual",)),
        "evals.suite.other": ("other", ("evals.suite-complex-case",)),
    }
    usual, special = (
        snapshot.catalogue.fixture(f"evals.suite-{n}") for n in ("usual", "complex-case")
    )
    assert usual is not None
    assert special is not None
    assert [one.name for one in usual.assertions] == ["shared"]
    assert [(one.name, one.options) for one in special.assertions] == [
        ("depth_check", {"prompt": "How deep is it?\n"})
    ]


@states("Content is an array of blocks of type `text` and `file`")
@states("`./path.md` is relative to the directory of the eval file")
@states("`../dir/file.md` goes to a parent directory")
@states("`/docs/file.md` counts from the repository root")
def test_file_references(tmp_path: Path) -> None:
    blocks = "".join(
        f"          - {{type: file, value: {path}}}\n"
        for path in ("./near.md", "../dir/file.md", "/docs/file.md", "around.md")
    )
    fixture = case(
        tmp_path,
        f"    input:\n      - role: user\n        content:\n          - {{type: text, value: Go}}\n{blocks}",
        **{
            "evals/near.md": "near\r\nlines\r\n",
            "dir/file.md": "parent\n",
            "docs/file.md": "from the root\n",
            "evals/docs/file.md": "not from the root\n",
            "around.md": "around\n",
        },
    )
    (message,) = fixture.input.messages
    told = text_of(message.content)
    assert '<file path="./near.md">\nnear\nlines\n</file>' in told, "line breaks are line feeds"
    assert '<file path="../dir/file.md">\nparent\n</file>' in told
    assert '<file path="docs/file.md">\nfrom the root\n</file>' in told
    assert '<file path="around.md">\naround\n</file>' in told
    assert fixture.reference is not None
    assert len(fixture.reference.input_files) == 4


@states(
    "A file that is not found gives a warning, and its block is dropped",
    differs="it is an error with its line: the question would be another one",
)
def test_a_file_is_missing(tmp_path: Path) -> None:
    suite = PAGE.replace(
        "input: What is 15 + 27?", "input: [{role: user, content: [{type: file, value: no.md}]}]"
    )
    (said,) = problems(agentv(tmp_path / "repo", {"evals/math.yaml": suite}))
    assert said.startswith("evals/math.yaml:4:")
    assert 'There is no file "no.md" in evals/ or a folder around it' in said


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/example/docs/blob/main/a.md",
        "https://gitlab.com/example/docs/-/blob/main/a.md",
        "https://bitbucket.org/example/docs/src/main/a.md",
    ],
)
@states(
    "Files of hosts that nobody allowed are cloned, too",
    refused="policy.sources of .github/gateval.yml on the target branch does not name",
)
def test_hosts_that_nobody_allowed(url: str, refusal: str, tmp_path: Path) -> None:
    block = f'[{{role: user, content: [{{type: file, value: "{url}"}}]}}]'
    suite = PAGE.replace("input: What is 15 + 27?", f"input: {block}")
    (said,) = problems(agentv(tmp_path / "repo", {"evals/math.yaml": suite}))
    assert refusal in said


@states(
    "`https://github.com/…`, `https://gitlab.com/…` and `https://bitbucket.org/…` are cloned once "
    "and cached",
    differs="`gateval lock` pins their commit and content first, so that nothing changes without a "
    "change here; hosts are those of `policy.sources`, and runs for forks fetch nothing",
)
def test_files_of_other_repositories(tmp_path: Path) -> None:
    with elsewhere(tmp_path, {"a.md": "Be kind.\n"}) as there:
        block = f'[{{role: user, content: [{{type: file, value: "{there.blob("a.md")}"}}]}}]'
        suite = PAGE.replace("input: What is 15 + 27?", f"input: {block}")
        locked = {"commit": there.repo.id("HEAD"), "path": "a.md", "sha256": KIND}
        files = {"evals/math.yaml": suite, ".github/gateval.yml": there.config}
        files[LOCK_PATH] = json.dumps({"version": 1, "files": {there.blob("a.md"): locked}})
        repo = agentv(tmp_path / "repo", files)
        sources = Pinned(GitSources(tmp_path / "cache", there.environ))
        snapshot = read_with(sources, repo)
        asked = len(there.server.seen)
        assert read_with(sources, repo).problems == snapshot.problems == ()
        assert len(there.server.seen) == asked
    (fixture,) = snapshot.catalogue.fixtures
    assert "Be kind." in text_of(fixture.input.messages[0].content)


@states(
    "Files that match `guideline_patterns` of `.agentv/config.yaml` go before the question",
    differs="they stay where the case has them; programs that judge are told which they are",
)
def test_guidelines(tmp_path: Path) -> None:
    fixture = case(
        tmp_path,
        "    input: [{role: user, content: [{type: file, value: a.rules.md}, {type: file, value: b.md}]}]\n",
        **{
            ".agentv/config.yaml": "guideline_patterns: ['**/*.rules.md']\n",
            "evals/a.rules.md": "Be kind.\n",
            "evals/b.md": "Text.\n",
        },
    )
    assert fixture.reference is not None
    assert fixture.reference.input_files == ("a.rules.md", "b.md")
    assert fixture.reference.guideline_files == ("a.rules.md",)


@states("An object is told as JSON, beside files too, whatever its keys are called")
def test_an_object_beside_files(tmp_path: Path) -> None:
    fixture = case(
        tmp_path,
        "    input: {type: [x]}\n    input_files: [b.md]\n",
        **{"evals/b.md": "Text.\n"},
    )
    (message,) = fixture.input.messages
    assert text_of(message.content).endswith('</file>\n{\n  "type": [\n    "x"\n  ]\n}')


@states("`sidecar` passes additional metadata to evaluators")
def test_sidecar(tmp_path: Path) -> None:
    fixture = case(
        tmp_path,
        "    sidecar:\n      language: python\n      difficulty: medium\n"
        "    input: Write a function to sort a list\n",
    )
    assert fixture.reference is not None
    assert fixture.reference.metadata == {"language": "python", "difficulty": "medium"}


@states("`conversation_id` names the conversation that a case is part of")
def test_conversation_id(tmp_path: Path) -> None:
    fixture = case(tmp_path, "    conversation_id: thread-7\n    input: Hello\n")
    assert fixture.reference is not None
    assert fixture.reference.conversation == "thread-7"
    assert fixture.labels == {"conversation": "thread-7"}


@states("`rubrics`: optional, structured evaluation criteria")
def test_rubrics(tmp_path: Path) -> None:
    fixture = case(tmp_path, "    input: Hello\n    rubrics: [Is kind, Is short]\n")
    (rubric,) = fixture.assertions
    assert rubric.type == "rubric"
    assert rubric.needs_judge
