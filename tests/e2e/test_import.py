"""`gateval import`: cases of other tools become fixtures; what does not carry over is listed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from gateval.cli.authoring import IMPORTED
from gateval.formats.imports.registry import IMPORTS
from gateval.formats.yaml_reader import read_documents
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

DATA = Path(__file__).parents[1] / "data" / "imports"
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: desk}
spec: {models: [scripted/desk], system: You help., tools: [{name: find_order}]}
"""
SCRIPT = """\
rules:
  - when: {user: "2 + 2"}
    reply: "4"
  - when: {user: France}
    reply: The capital is Paris.
  - when: {user: "10482", turn: 1}
    toolCalls: [{name: find_order, arguments: {order: "10482"}}]
  - reply: It is on its way with DHL.
"""
FILES = [
    ("adk", ["adk/refunds.evalset.json"], ["--compare", "contains"]),
    ("adk", ["adk/old/simple.test.json", "adk/old/named.test.json"], ["--judge", "scripted/desk"]),
    ("promptfoo", ["promptfoo/promptfooconfig.yaml"], ["--judge", "scripted/desk"]),
    ("promptfoo", ["promptfoo/chat.yaml"], []),
    ("prompt-yml", ["prompt-yml/capital.prompt.yml"], ["--judge", "scripted/desk"]),
    ("inspect", ["datasets/inspect.jsonl", "datasets/table.csv"], ["--compare", "contains"]),
    ("openai-evals", ["datasets/openai-evals.jsonl"], ["--compare", "startsWith"]),
    ("deepeval", ["datasets/deepeval.json"], ["--compare", "judge", "--judge", "scripted/desk"]),
    ("langsmith", ["datasets/langsmith.jsonl"], ["--compare", "equals"]),
    ("braintrust", ["datasets/braintrust.jsonl"], ["--compare", "contains"]),
    ("braintrust", ["datasets/braintrust.jsonl"], []),
]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("agents/desk.yaml", AGENT)
    made.write(".gateval/scripted/desk.yaml", SCRIPT)
    shutil.copytree(DATA, made.path / "evals")
    made.commit()
    return made


def imported(repo: Repo, format_: str, *words: str) -> str:
    """What the command says; it has to end well, unless nothing at all carries over."""
    done = gateval(repo, "import", format_, *words)
    nothing = done.stdout.count("nothing was written.") and "wrote " not in done.stdout
    assert done.returncode == (2 if nothing else 0), done.stderr
    assert ("so nothing was imported" in done.stderr) is bool(nothing)
    return done.stdout


@pytest.mark.parametrize(
    ("format_", "files", "options"), FILES, ids=[f"{one[0]}-{'-'.join(one[2])}" for one in FILES]
)
def test_what_carries_over_is_written_and_the_rest_is_listed(
    repo: Repo, format_: str, files: list[str], options: list[str], snapshot: SnapshotAssertion
) -> None:
    said = imported(repo, format_, *[f"evals/{name}" for name in files], *options)
    made = sorted((repo.path / "evals").rglob("*.gateval.yaml"))
    texts = [f"== {one.relative_to(repo.path)}\n{one.read_text('utf-8')}" for one in made]
    assert "\n".join([said, *texts]) == snapshot
    checked = gateval(repo, "validate")
    assert checked.returncode == 0, checked.stderr


PUBLIC = yaml.safe_load((DATA / "public.yaml").read_text("utf-8"))
NAMES = frozenset({
    "eval_set_id", "evalSetId", "eval_id", "evalId", "invocation_id", "invocationId", "id", "app_name",
    "appName", "user_id", "userId", "role", "creation_timestamp", "creationTimestamp", "type", "author",
    "rubric_id", "rubricId", "name", "metric", "weight",
})  # fmt: skip
"""Keys of what names or numbers a thing, and of a kind, which another word of ours may say."""


KINDS = ("name", "type", "$ref")


def content(one: dict[str, Any]) -> str:
    """What stands in a file of a public shape."""
    if "rows" in one:
        return "".join(json.dumps(row) + "\n" for row in one["rows"])
    return json.dumps(one["json"], indent=1) if "json" in one else str(one["text"])


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Each text and number, with its path; what is empty says nothing."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    elif value not in (None, "", True, False) and not {*path[-1:]} & NAMES:
        yield path, str(value)


def untold(one: dict[str, Any], told: str, written: str) -> list[str]:
    """What of a file is neither in the manifests that were written of it nor listed.

    A line lists what it names, and with "the case" or "the row" all that begins in its line.
    Evaluators and assertions are named by their name or type.
    """
    if f"evals/{one['path']}: nothing of it carries over" in told:
        return []
    listed = [line for line in told.splitlines() if line.startswith(f"- evals/{one['path']}:")]
    said = " ".join(line.split(" ", 2)[2] for line in listed)
    words = set(re.findall(r"\w+|\$\w+", said))
    whole = {
        int(found[1])
        for line in listed
        if (found := re.match(r"\S+ \S+?:(\d+) the (?:case|row):", line))
    }
    texts = [text for _, text in leaves([*yaml.safe_load_all(written)])]
    document = read_documents(one["path"], content(one).encode())[0]
    lost = []
    data: Any = one.get("rows", one.get("json", yaml.safe_load(one.get("text", ""))))
    for path, text in leaves(data):
        around = [reduce(lambda value, key: value[key], path[:at], data) for at in range(len(path))]
        called = [each.get(key) for each in around if isinstance(each, dict) for key in KINDS]
        begin = (
            {path[0] + 1}
            if "rows" in one
            else {document[0].place(path[:at]).line for at in range(1, len(path) + 1)}
        )
        if text.removeprefix("file://") in {
            name.partition("/")[2] for name in one.get("config", {})
        }:
            pieces = [found for _, found in leaves([*one["config"].values()])]
            assert all(found in texts for found in pieces), pieces
            continue
        pieces = [piece.strip() for piece in re.split(r"\{\{.*?\}\}", text) if piece.strip()]
        carried = all(any(piece in found for found in texts) for piece in pieces)
        named = words & {str(key) for key in path} or any(f"`{name}`" in said for name in called)
        if not carried and not begin & whole and not named:
            lost.append(f"{path} {text}")
    return lost


@pytest.mark.parametrize("format_", dict.fromkeys(one["format"] for one in PUBLIC))
def test_each_line_of_public_shapes_carries_over_or_is_listed(repo: Repo, format_: str) -> None:
    files = [one for one in PUBLIC if one["format"] == format_]
    for one in files:
        repo.write(f"evals/{one['path']}", content(one))
        for name, beside in one.get("config", {}).items():
            text = json.dumps(beside) if name.endswith("json") else yaml.safe_dump(beside)
            repo.write(f"evals/{one['path'].partition('/')[0]}/{name.partition('/')[2]}", text)
    repo.commit()
    said = imported(
        repo, format_, *[f"evals/{one['path']}" for one in files],
        "--compare", "contains", "--judge", "scripted/desk",
    )  # fmt: skip
    for one in files:
        made = (repo.path / "evals" / one["path"]).with_suffix(".gateval.yaml")
        written = made.read_text("utf-8") if made.exists() else ""
        assert untold(one, said, written) == [], f"{said}\n{written}"
    checked = gateval(repo, "validate")
    assert checked.returncode == 0, checked.stderr


def test_imported_cases_run(repo: Repo) -> None:
    imported(repo, "adk", "evals/adk/old/simple.test.json")
    imported(repo, "braintrust", "evals/datasets/braintrust.jsonl", "--compare", "contains")
    repo.commit()
    folder = str(repo.path.parent / "out")
    done = gateval(repo, "run", "simple", "braintrust", "--rev", "HEAD", "--results", folder)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((repo.path.parent / "out" / "results.v1.json").read_text("utf-8"))
    outcomes = {one["key"]["fixture"]: one["outcome"] for one in results["trials"]}
    assert outcomes == {"simple-1": "pass", "braintrust-a": "pass", "braintrust-b": "pass"}


def test_names_that_are_taken_get_a_number(repo: Repo) -> None:
    repo.write("other/refunds.test.json", '[{"query": "Hi", "expected_tool_use": []}]')
    said = imported(repo, "adk", "evals/adk/refunds.evalset.json", "other/refunds.test.json")
    assert "wrote other/refunds.test.gateval.yaml: an Eval of desk, 1 fixture." in said
    assert "name: refunds-2\n" in (repo.path / "other/refunds.test.gateval.yaml").read_text("utf-8")
    assert gateval(repo, "validate").returncode == 0


@pytest.mark.parametrize(
    ("format_", "text", "said"),
    [
        ("adk", "{", "evals/new.json:1:1: "),
        ("adk", "{\n \"eval_cases\": 1\n}", "This is no eval set of ADK"),
        ("adk", '[\n {"query": "a", "query": "b"}]', 'evals/new.json:1:1: This is not JSON: the key "query"'),
        ("promptfoo", "[]", "This is no config of promptfoo"),
        ("prompt-yml", "{}", "This is no prompt of GitHub Models"),
        ("deepeval", "{}", "This is no list in JSON"),
    ],
)  # fmt: skip
def test_a_file_that_is_something_else_is_an_error(
    repo: Repo, format_: str, text: str, said: str
) -> None:
    repo.write("evals/new.json", text)
    done = gateval(repo, "import", format_, "evals/adk/refunds.evalset.json", "evals/new.json")
    if format_ != "adk":
        done = gateval(repo, "import", format_, "evals/new.json")
    assert done.returncode == 2
    assert said in done.stderr
    assert not list(repo.path.rglob("*.gateval.yaml"))


BROKEN = (
    b'{"input": "What is 2 + 2?", "target": "4"}\n'
    b'{"input": "cut off, "tar\n'
    b'{"input": "\xff", "target": "x"}\n'
    b"not JSON\n"
    b'{"input": "a", "input": "b", "target": "c"}\n\n'
    b"[1]\n"
    b'{"input": "Capital of France?", "target": "Paris"}\r\n'
    b"not JSON\n"
)


@pytest.mark.parametrize(
    "format_", ["inspect", "openai-evals", "deepeval", "langsmith", "braintrust"]
)
def test_a_broken_line_is_listed_and_the_others_are_imported(repo: Repo, format_: str) -> None:
    keys = {
        "inspect": ("input", "target"),
        "openai-evals": ("input", "ideal"),
        "deepeval": ("input", "expected_output"),
    }
    first, second = keys.get(format_, ("input", "expected"))
    first, second = ("inputs", "outputs") if format_ == "langsmith" else (first, second)
    data = BROKEN.replace(b'"target"', f'"{second}"'.encode()).replace(
        b'"input"', f'"{first}"'.encode()
    )
    path = repo.path / "evals" / "broken.jsonl"
    path.write_bytes(data)
    said = imported(repo, format_, "evals/broken.jsonl", "--compare", "contains")
    assert "wrote evals/broken.gateval.yaml: an Eval of desk, 2 fixtures." in said
    for line, why in (
        (2, "the line: this line is not JSON: expecting ',' delimiter"),
        (3, "the line: this line is not UTF-8. Save the file as UTF-8"),
        (4, "the line: this line is not JSON: expecting value"),
        (5, f'the line: this line is not JSON: the key "{first}"'),
        (7, f"the row: it has no `{first}`"),
        (9, "the line: this line is not JSON: expecting value"),
    ):
        assert f"- evals/broken.jsonl:{line} {why}" in said, said
    text = (repo.path / "evals/broken.gateval.yaml").read_text()
    assert [one for one in text.splitlines() if one.startswith("# From")] == [
        f"# From evals/broken.jsonl:{line}" for line in (1, 8)
    ]
    assert gateval(repo, "validate").returncode == 0


def test_rows_of_csv_and_of_tests_of_promptfoo_stand_for_themselves(repo: Repo) -> None:
    repo.write("evals/broken.csv", "input,target\nWhat is 2 + 2?,4\none,two,three\nFrance?,Paris\n")
    said = imported(repo, "inspect", "evals/broken.csv", "--compare", "contains")
    assert "2 fixtures" in said
    assert "- evals/broken.csv:3 the line: this row has 3 fields, but the header has 2." in said
    repo.write("evals/tests.jsonl", '{"vars": {"q": "a"}, "assert": [{"type": "contains", "value": "4"}]}\n{\n'
               '{"vars": {"q": "b"}, "assert": [{"type": "contains", "value": "4"}]}\n')  # fmt: skip
    repo.write(
        "evals/foo.yaml",
        "prompts: ['Say {{q}}']\nproviders: [openai:gpt-5]\ntests: file://tests.jsonl\n",
    )
    said = imported(repo, "promptfoo", "evals/foo.yaml")
    assert "an Eval of desk, 2 fixtures" in said
    assert "- evals/tests.jsonl:2 the line: this line is not JSON" in said


def test_a_file_without_any_good_line_is_an_error(repo: Repo) -> None:
    repo.write("evals/broken.jsonl", "not\nJSON\n")
    done = gateval(repo, "import", "inspect", "evals/broken.jsonl", "--compare", "equals")
    assert done.returncode == 2
    assert "evals/broken.jsonl:1:1: This line is not JSON" in done.stderr
    assert not list(repo.path.rglob("*.gateval.yaml"))


def test_the_agent_has_to_be_clear(repo: Repo) -> None:
    repo.write("agents/other.yaml", AGENT.replace("name: desk", "name: other", 1))
    done = gateval(repo, "import", "adk", "evals/adk/refunds.evalset.json")
    assert (done.returncode, "--agent" in done.stderr) == (2, True)
    wrong = gateval(repo, "import", "adk", "evals/adk/refunds.evalset.json", "--agent", "dsk")
    assert 'Did you mean "desk"?' in wrong.stderr
    assert "an Eval of other" in imported(
        repo, "adk", "evals/adk/refunds.evalset.json", "--agent", "other"
    )


def test_nothing_is_overwritten(repo: Repo) -> None:
    imported(repo, "adk", "evals/adk/refunds.evalset.json")
    again = gateval(
        repo, "import", "adk", "evals/adk/old/simple.test.json", "evals/adk/refunds.evalset.json"
    )
    assert again.returncode == 2
    assert "refunds.evalset.gateval.yaml is there already" in again.stderr
    assert not (repo.path / "evals/adk/old/simple.test.gateval.yaml").exists()


def test_no_file_outside_the_repository_is_read(repo: Repo) -> None:
    secret = repo.path.parent / "secret.txt"
    secret.write_text("a secret of mine", "utf-8")
    (repo.path / "link.txt").symlink_to(secret)
    config = {
        "prompts": ["file://../../../secret.txt"],
        "tests": [
            {"vars": {"a": f"file://{name}"}, "assert": [{"type": "equals", "value": "x"}]}
            for name in ("../secret.txt", "link.txt", str(secret))
        ],
    }
    repo.write("promptfooconfig.yaml", json.dumps(config))
    said = imported(repo, "promptfoo", "promptfooconfig.yaml")
    assert "nothing of it carries over" in said
    assert "a secret of mine" not in said


def test_texts_of_strangers_stay_texts(repo: Repo) -> None:
    case = {"id": "a\n::error::x", "input": "---\nkind: Agent\n# {{ input }}", "expected": "x: y"}
    repo.write("rows.jsonl", json.dumps(case) + "\n")
    imported(repo, "braintrust", "rows.jsonl", "--compare", "equals")
    text = (repo.path / "rows.gateval.yaml").read_text("utf-8")
    assert "name: rows-a-error-x" in text
    assert text.count("kind: Agent") == 1
    checked = gateval(repo, "validate")
    assert "1 Agent, 1 more in files of other tools, 1 Eval, 1 fixture" in checked.stdout


def test_what_no_fixture_can_say_is_listed_and_not_written(repo: Repo) -> None:
    said = [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "There."}]
    rows = [
        {"input": "What is 2 + 2?", "ideal": ["4", "four"]},
        {"input": said, "ideal": "There."},
        {"input": [{"role": "system", "content": "You add up."}], "ideal": "4"},
        {"input": "Say {{ vars.name }}", "ideal": "Ann"},
    ]
    repo.write("rows.jsonl", "\n".join(map(json.dumps, rows)))
    done = gateval(repo, "import", "openai-evals", "rows.jsonl", "--compare", "contains")
    assert "1 fixture." in done.stdout
    last = "the last message has to be the user's: the agent answers it"
    assert f"rows.jsonl:2 the case (2 times, first here): {last}" in done.stdout
    assert "rows.jsonl:4 the case: it holds `{{ vars` or `{{ case`, which" in done.stdout
    assert gateval(repo, "validate").returncode == 0


def test_a_case_of_adk_without_turns_is_listed(repo: Repo) -> None:
    cases = [{"eval_id": "none", "conversation": []}, {"eval_id": "odd", "conversation": ["hi"]}]
    repo.write("x.evalset.json", json.dumps({"eval_set_id": "x", "eval_cases": cases}))
    done = gateval(repo, "import", "adk", "x.evalset.json")
    assert "the case (2 times, first here): it has no `conversation` to be replayed" in done.stdout


def test_answers_of_earlier_turns_that_adk_does_not_measure_are_listed(repo: Repo) -> None:
    calls_alone = {"criteria": {"tool_trajectory_avg_score": 1.0}}
    turns = [
        {
            "user_content": {"parts": [{"text": asked}]},
            "final_response": {"parts": said},
            "intermediate_data": {"tool_uses": []},
        }
        for asked, said in (
            ("Off", [{"text": "It is off."}]),
            ("Picture", [{"inline_data": {"mime_type": "image/png"}}]),
            ("Now?", [{"text": "Off."}]),
        )
    ]
    cases = [{"eval_id": "x", "conversation": turns}]
    repo.write("own/test_config.json", json.dumps(calls_alone))
    repo.write("own/a.test.json", json.dumps({"eval_set_id": "a", "eval_cases": cases}))
    done = gateval(repo, "import", "adk", "own/a.test.json", "--judge", "scripted/desk")
    said = f"{done.stdout}{done.stderr}"
    assert "the answer of an earlier turn: own/test_config.json does not measure it" in said
    assert "final_response: it is more than text" in said


def test_a_list_is_one_answer_where_the_format_does_not_say_that_any_will_do(repo: Repo) -> None:
    repo.write("rows.jsonl", json.dumps({"input": "Which?", "expected": ["red", "blue"]}))
    done = gateval(repo, "import", "braintrust", "rows.jsonl", "--compare", "contains")
    assert "it is no text, which `--compare contains` takes" in done.stdout
    assert not (repo.path / "rows.gateval.yaml").exists()
    assert (
        gateval(repo, "import", "braintrust", "rows.jsonl", "--compare", "equals").returncode == 0
    )
    assert gateval(repo, "validate").returncode == 0


def test_the_command_knows_every_format() -> None:
    assert ("agentv", *IMPORTS) == IMPORTED


def test_init_names_the_command_for_cases_that_are_there(repo: Repo) -> None:
    first = gateval(repo, "init", "--yes")
    named = "Take over the cases that are here already:  gateval import "
    assert f"{named}prompt-yml evals/prompt-yml/capital.prompt.yml\n" in first.stdout
    assert (
        f"{named}adk evals/adk/old/named.test.json evals/adk/old/simple.test.json" in first.stdout
    )
    imported(repo, "prompt-yml", "evals/prompt-yml/capital.prompt.yml")
    assert f"{named}prompt-yml" not in gateval(repo, "init", "--yes").stdout
