"""What people get wrong first, and whether the gate says what to write instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.assertions.registry import ASSERTIONS, ELSEWHERE
from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import FIXTURES, build_shop


@pytest.fixture
def empty(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return build_shop(tmp_path / "shop")


def manifest(name: str, body: str) -> str:
    return f"apiVersion: gateval/v1\nkind: Agent\nmetadata: {{name: {name}}}\nspec:\n{body}"


@pytest.mark.parametrize(
    ("key", "meant"),
    [("sytem", "system"), ("modles", "models"), ("model", "models"), ("tool", "tools")],
)
def test_a_key_that_is_nearly_one_of_ours_is_an_error(empty: Repo, key: str, meant: str) -> None:
    empty.write("a.yaml", manifest("a", f"  models: [openai/x]\n  {key}: You help.\n"))
    done = gateval(empty, "validate")

    assert done.returncode == 2
    assert (
        f'a.yaml:6:3: spec.{key}: "{key}" means nothing here. Did you mean "{meant}"?'
        in done.stdout
    )


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("{name: t, enabeld: false}", '.enabeld: "enabeld" means nothing here. Did you mean "enabled"?'),
        ("{name: t, input_schema: {}}", 'Did you mean "inputSchema"?'),
        ("{type: mcp, name: t, comand: [x]}", '.comand: "comand" means nothing here. Did you mean "command"?'),
    ],
)  # fmt: skip
def test_a_key_of_a_tool_that_is_nearly_one_of_ours_is_an_error(
    empty: Repo, keys: str, said: str
) -> None:
    empty.write("a.yaml", manifest("a", f"  models: [openai/x]\n  tools: [{keys}]\n"))
    done = gateval(empty, "validate")

    assert done.returncode == 2
    column = 11 + keys.index(said[1:].partition(":")[0] if said[0] == "." else "input_schema")
    assert f"a.yaml:6:{column}: spec.tools[0]{said if said[0] == '.' else ''}" in done.stdout
    assert said in done.stdout


@pytest.mark.parametrize(
    ("metadata", "code", "said"),
    [
        ("lables: {a: b}", 2, 'a.yaml:3:21: metadata.lables: "lables" means nothing here. Did you mean "labels"?'),
        ("annotation: {a: b}", 2, 'Did you mean "annotations"?'),
        ("team: x", 0, 'These keys of the Agent "a" mean nothing to the gate: "metadata.team".'),
        ("uid: x, generation: 2, managedFields: []", 0, ""),
    ],
)  # fmt: skip
def test_metadata_of_an_agent_is_looked_at(
    empty: Repo, metadata: str, code: int, said: str
) -> None:
    text = manifest("a, " + metadata, "  models: [openai/x]\n  system: You help.\n")
    empty.write("a.yaml", text)
    done = gateval(empty, "validate")

    assert done.returncode == code, done.stdout
    assert said in " ".join(done.stdout.split())
    assert bool(said) == ("mean" in done.stdout)


@pytest.mark.parametrize(
    "kind", ["Eval", "EvalFixture", "JudgeCalibration", "Benchmark", "Experiment"]
)
def test_metadata_of_the_other_kinds_is_as_strict(empty: Repo, kind: str) -> None:
    text = manifest("a, lables: {a: b}", "  x: 1\n").replace("kind: Agent", f"kind: {kind}")
    empty.write("a.yaml", text)
    done = gateval(empty, "validate")

    assert done.returncode == 2
    assert 'metadata.lables: Unknown key "lables". Did you mean "labels"?' in done.stdout, (
        done.stdout
    )


@pytest.mark.parametrize(
    ("payload", "meant"),
    [("Prompt: Hi", "prompt"), ("promt: Hi", "prompt"), ("txt: Hi", "text"), ("test: Hi", ""), ("prompt: Hi, prompts: x", "")],
)  # fmt: skip
def test_a_prompt_that_is_misspelled_in_the_payload_is_told(
    shop: Repo, payload: str, meant: str
) -> None:
    text = "apiVersion: gateval/v1\nkind: EvalFixture\nmetadata: {name: odd, labels: {suite: x}}\n"
    asked = f"input: {{type: prompt, payload: {{{payload}}}}}"
    shop.write("odd.yaml", f"{text}spec: {{{asked}, assertions: [{{type: contains, value: a}}]}}\n")
    done = gateval(shop, "validate")

    assert done.returncode == 0, done.stdout
    assert ("is not the prompt, so the agent is told" in done.stdout) == bool(meant)
    assert f'Did you mean "{meant}"?' in done.stdout or not meant


@pytest.mark.parametrize("key", ["systemPrompt", "system_prompt", "instructions", "prompt"])
def test_a_prompt_by_another_tools_name_is_not_dropped(empty: Repo, key: str) -> None:
    empty.write("a.yaml", manifest("a", f"  models: [openai/x]\n  {key}: You help.\n"))
    done = gateval(empty, "validate")

    assert done.returncode == 2
    assert (
        f'a.yaml:6:3: spec.{key}: "{key}" means nothing here. Here it is `system`.' in done.stdout
    )

    both = f"  models: [openai/x]\n  system: You help.\n  {key}: x\n"
    empty.write(
        "a.yaml", manifest("a", f"{both}  tools: [{{name: t, parameters: {{}}, disabled: true}}]\n")
    )
    done = gateval(empty, "validate")
    assert done.returncode == 0
    told = " ".join(done.stdout.split())
    assert (
        f'"{key}" (here it is `system`), "tools[0].parameters" (here it is `inputSchema`), ' in told
    )
    assert '"tools[0].disabled" (here it is `enabled`).' in told


def test_other_unknown_keys_are_told_and_those_of_other_systems_are_not(empty: Repo) -> None:
    empty.write("a.yaml", manifest("a", "  models: [openai/x]\n  image: x\n  colour: red\n"))
    done = gateval(empty, "validate")

    assert done.returncode == 0
    assert (
        'warning: a.yaml:3:18: These keys of the Agent "a" mean nothing to the gate' in done.stdout
    )
    assert ': "colour".' in done.stdout


def test_a_command_line_as_one_text_is_shown_as_a_list(empty: Repo) -> None:
    runtime = "  runtime: {type: command, command: python agent.py --ask 'a b'}\n"
    empty.write("a.yaml", manifest("a", runtime))
    done = gateval(empty, "validate")

    assert done.returncode == 2
    assert 'Write [python, agent.py, "--ask", "a b"]; no shell reads it.' in done.stdout


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("[python, agent.py]", "agents/agent.py"),
        ("[uv, run, src/agent.py, --file, other.py]", "agents/src/agent.py"),
        ("[bin/agent]", "agents/bin/agent"),
        ("[python, -m, agent.py]", ""),
        ("[python, there.py]", ""),
        ("[/usr/bin/agent.sh]", ""),
        ("[echo, x]", ""),
        ('[env, -S, "python3 there.py"]', ""),
        ('[env, -S, "python3 ../agents/there.py"]', ""),
        ('[/usr/bin/env, -iS, "A=../x.py python3 gone.py"]', "agents/gone.py"),
        ('[env, "--split-string=./bin/agent there.py"]', "agents/bin/agent"),
        ('[env, -S, "python3 -m agent.py"]', ""),
        ('[env, -S, "python3 -u", gone.py]', "agents/gone.py"),
        ("[echo, x], before: [sh, reset.sh]", "agents/reset.sh"),
        ("[echo, x], services: [{name: db, command: [sh, db.sh]}]", "agents/db.sh"),
    ],
)
def test_a_program_that_is_no_file_is_told(empty: Repo, command: str, told: str) -> None:
    runtime = f"  runtime: {{type: command, command: {command}}}\n"
    empty.write("agents/a.yaml", manifest("a", runtime))
    empty.write("agents/there.py", "")
    done = gateval(empty, "validate")

    assert done.returncode == 0
    assert (f"{told} is no file of this revision." in done.stdout) is bool(told)
    assert ("no file" in done.stdout) is bool(told)


def test_names_of_other_tools_lead_to_ours(shop: Repo) -> None:
    for name, ours in ELSEWHERE.items():
        assert name not in ASSERTIONS
        assert name == name.lower()
        assert not ours.startswith("`") or ours.split("`")[1] in ASSERTIONS
    for written in ("llm-rubric", "llm_rubric", "LLM-Rubric"):
        shop.write("evals/fixtures.yaml", FIXTURES.replace("contains", written, 1))
        done = gateval(shop, "validate")
        assert done.returncode == 2
        assert f'Unknown assertion type "{written}". Here it is `judge`.' in done.stdout


def test_the_opposite_of_an_assertion_does_not_lead_to_it(shop: Repo) -> None:
    shop.write("evals/fixtures.yaml", FIXTURES.replace("contains", "not-regex", 1))
    assert "Here it is `not` with a `regex` in it." in gateval(shop, "validate").stdout


def test_a_repository_without_manifests_is_pointed_at_init(empty: Repo) -> None:
    empty.write("README.md", "Hello\n")
    empty.commit()
    for command in ("validate", "check"):
        done = gateval(
            empty, command, *(("--base", "HEAD", "--head", "HEAD") if command == "check" else ())
        )
        assert done.returncode == 0
        assert "`gateval init` writes" in done.stdout


def test_one_long_sentence_stands_there_once(empty: Repo) -> None:
    for number in range(14):
        body = "  runtime: {type: command, command: python agent.py}\n"
        empty.write(f"more/{number:02}.yaml", manifest(f"more-{number}", body))
    done = gateval(empty, "validate")

    assert done.returncode == 2
    assert done.stdout.count("no shell reads it") == 1
    assert done.stdout.count("the same as at more/00.yaml:5:37") == 13


def test_commands_that_are_nearly_ours(empty: Repo) -> None:
    near = gateval(empty, "chekc")
    assert near.returncode == 2
    assert "No such command 'chekc'. Did you mean \"check\"?" in near.stderr
    assert "There are aa, action, audit, calibrate," in gateval(empty, "qqq").stderr


def test_a_greeting_of_a_program_that_does_not_go_on_is_an_error(empty: Repo) -> None:
    runtime = "  runtime: {type: command, command: [python3, a.py], greeting: 1}\n"
    empty.write("agent/a.py", "")
    empty.write("agent/a.yaml", manifest("a", runtime))
    done = gateval(empty, "validate")
    assert done.returncode == 2
    assert "spec.runtime.greeting: Only a process that goes on has a greeting" in done.stdout
    empty.write("agent/a.yaml", manifest("a", runtime.replace("}", ", conversation: process}")))
    assert gateval(empty, "validate").returncode == 0
