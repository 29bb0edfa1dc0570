"""The runtime `command` with real programs: what they get, and what becomes of what they do."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

from gateval.candidates.base import TrialRequest
from gateval.candidates.environment import SDK_DEFAULTS, SWITCHES
from gateval.candidates.team import Candidates
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.model_call import Usage
from gateval.domain.trials.trace import Step, StepKind, Trace
from gateval.domain.trials.trial import Answer, Cause, NoAnswer, Side
from tests.helpers.candidates import Door, World, ask, command_agent, python_agent
from tests.helpers.isolation import open_python


def run(
    world: World, agent: AgentDefinition, *requests: TrialRequest
) -> tuple[Answer | NoAnswer, ...]:
    """Ask the agent all questions at once, and see to it that nothing is left of it."""

    async def main() -> tuple[Answer | NoAnswer, ...]:
        async with Candidates(world.context) as candidates:
            asked = requests or (ask(),)
            return tuple(
                await asyncio.gather(*(candidates.answer(agent, request) for request in asked))
            )

    results = asyncio.run(main())
    assert world.survivors() == []
    assert world.leftovers() == []
    return results


def output(world: World, agent: AgentDefinition, *requests: TrialRequest) -> str:
    (result,) = run(world, agent, *requests)
    assert isinstance(result, Answer), result
    return result.output


def failed(world: World, agent: AgentDefinition, *requests: TrialRequest) -> NoAnswer:
    (result,) = run(world, agent, *requests)
    assert isinstance(result, NoAnswer), result
    return result


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_it_is_asked_the_input_and_nothing_that_gives_the_test_away(world: World) -> None:
    world.write("agent.py", "import sys; print('got ' + sys.stdin.read())")
    text = output(world, python_agent(), ask(payload={"text": "hi", "from": "ada"}))
    assert json.loads(text.removeprefix("got ")) == {
        "version": 1,
        "input": {"type": "prompt", "payload": {"text": "hi", "from": "ada"}},
        "prompt": "hi",
    }


def test_its_claims_are_taken_when_nobody_else_watched(world: World) -> None:
    world.write(
        "agent.py",
        """
        import json
        print(json.dumps({
            "output": "done",
            "trace": [{"type": "tool_call", "tool": "refund", "arguments": {"cents": 5}}],
            "usage": {"input_tokens": 3, "output_tokens": 4},
        }))
        """,
    )
    (result,) = run(world, python_agent())
    assert isinstance(result, Answer)
    assert result.output == "done"
    assert result.usage == Usage(input_tokens=3, output_tokens=4)
    assert result.trace is not None
    assert result.trace.source == "candidate"
    assert result.trace.tool_calls()[0].arguments == {"cents": 5}
    assert 0 < result.seconds < 20


SEEN = Trace(
    source="gateway",
    steps=(Step(number=1, kind=StepKind.USER, text="seen at the door"),),
    usage=Usage(input_tokens=1, output_tokens=1),
    model_calls=1,
)


@pytest.mark.parametrize(("recorded", "source"), [(SEEN, "gateway"), (None, "candidate")])
def test_what_the_door_saw_wins_over_claims(
    tmp_path: Path, recorded: Trace | None, source: str
) -> None:
    door = Door(trace=recorded)
    world = World(tmp_path, door=door)
    world.write(
        "agent.py",
        """
        import json, os
        print(json.dumps({
            "output": os.environ["OPENAI_BASE_URL"] + " " + os.environ["OPENAI_API_KEY"],
            "trace": [], "usage": {"input_tokens": 99},
        }))
        """,
    )
    (result,) = run(world, python_agent(models=("openai/gpt",), side=Side.BASE))
    assert isinstance(result, Answer)
    assert result.output == "http://127.0.0.1:1/v1 throw-away"
    assert result.trace is not None
    assert result.trace.source == source
    assert (result.usage == SEEN.usage) is (recorded is not None)
    assert door.opened == [(Side.BASE, ("openai/gpt",))]
    assert (door.begun, door.ended, door.closed) == (1, 1, 1)


def test_a_failure_keeps_what_the_door_saw_and_shuts_it(tmp_path: Path) -> None:
    door = Door(trace=SEEN)
    world = World(tmp_path, door=door)
    world.write("agent.py", "raise SystemExit(3)")
    result = failed(world, python_agent())
    assert result.trace == SEEN
    assert (door.begun, door.ended, door.closed) == (1, 1, 1)


CANARIES = {
    "OPENAI_API_KEY": "sk-canary",
    "GITHUB_TOKEN": "ghs-canary",
    "ACTIONS_RUNTIME_TOKEN": "canary",
    "INPUT_KEY": "canary",
    "MY_SECRET": "canary",
    "PATH": os.environ["PATH"],
}


def test_its_environment_is_what_we_gave_it_and_nothing_else(tmp_path: Path) -> None:
    world = World(tmp_path, environ=CANARIES)
    world.write(
        "agent.py",
        """
        import json, os, stat
        private = {n: [oct(os.stat(os.environ[n]).st_mode & 0o777), os.listdir(os.environ[n])]
                   for n in ("HOME", "TMPDIR")}
        open("made", "w").close()
        print(json.dumps({"environ": dict(os.environ), "private": private,
                          "mode": oct(os.stat("made").st_mode & 0o777),
                          "leader": os.getpid() == os.getpgid(0) == os.getsid(0),
                          "files": os.listdir("/proc/self/fd")}))
        """,
    )
    seen = json.loads(output(world, python_agent(name="shop", env={"LEVEL": "high"})))
    environ = seen["environ"]
    environ.pop("LC_CTYPE", None)  # Python itself sets it
    own = {"PATH", "LANG", "HOME", "TMPDIR", "LEVEL", "GATEVAL_CANDIDATE"}
    assert set(environ) == own | set(SWITCHES) | set(SDK_DEFAULTS)
    assert environ["GATEVAL_CANDIDATE"] == f"shop-cand-{world.context.run}"
    assert environ["LEVEL"] == "high"
    assert environ["HOME"].startswith(str(world.context.scratch))
    assert not Path(environ["HOME"]).exists()
    assert seen["private"] == {"HOME": ["0o700", []], "TMPDIR": ["0o700", []]}
    assert seen["mode"] == "0o600"
    assert seen["leader"]
    assert len(seen["files"]) == 4  # its three pipes, and the listing itself


def test_trials_side_by_side_have_their_own_private_folders(world: World) -> None:
    world.write(
        "agent.py",
        """
        import json, os, pathlib, sys, time
        mine = pathlib.Path(os.environ["HOME"], "mine")
        assert not mine.exists()
        mine.write_text(json.load(sys.stdin)["prompt"])
        time.sleep(0.05)
        print(mine.read_text())
        """,
    )
    results = run(world, python_agent(), *(ask(f"question {n}") for n in range(6)))
    assert [r.output for r in results if isinstance(r, Answer)] == [
        f"question {n}" for n in range(6)
    ]
    assert world.folders.asked == [Side.HEAD]


def test_it_works_in_its_folder(world: World) -> None:
    world.write("agents/shop/agent.py", "import os; print(os.getcwd())")
    assert output(world, python_agent(cwd="agents/shop")) == str(world.export / "agents/shop")


def test_a_program_of_the_repository_is_found_from_its_folder(world: World) -> None:
    world.write("bin/agent", f"#!{open_python()} -I\nprint('ran')\n")
    (world.export / "bin/agent").chmod(0o755)
    assert output(world, command_agent(("./agent",), cwd="bin")) == "ran"


def test_no_shell_reads_the_command(world: World) -> None:
    world.write("agent.py", "import sys; print(sys.argv[1:])")
    agent = command_agent((sys.executable, "-I", "agent.py", "$(touch x)", "; rm -rf *", "a b"))
    assert output(world, agent) == "['$(touch x)', '; rm -rf *', 'a b']"
    assert [path.name for path in world.export.iterdir()] == ["agent.py"]


@pytest.mark.parametrize(
    ("program", "reason", "detail"),
    [
        (
            "import sys; print('out'); print('boom', file=sys.stderr); sys.exit(3)",
            "The agent ended with exit code 3.",
            ("boom", "out"),
        ),
        ("import os; os.abort()", "The agent was ended by SIGABRT.", ()),
        ("print()", "The agent's answer cannot be used: it is empty.", ()),
        (
            'print(\'{"output": "x", "trace": 7}\')',
            "The agent's answer cannot be used: `trace` is no list of steps.",
            ('{"output": "x", "trace": 7}',),
        ),
        (
            "import sys; sys.stderr.write('\\x1b[31mred\\n::error::pwn\\n\\xff'); print('')",
            "The agent's answer cannot be used: it is empty.",
            ("\x1b[31mred", "::error::pwn", "ÿ"),
        ),
    ],
)
def test_what_a_candidate_does_wrong_is_told_with_what_it_printed(
    world: World, program: str, reason: str, detail: tuple[str, ...]
) -> None:
    world.write("agent.py", program)
    result = failed(world, python_agent())
    assert (result.cause, result.reason, result.timed_out) == (Cause.CANDIDATE, reason, False)
    assert result.detail[0].startswith("$ ")
    assert "agent.py" in result.detail[0]
    assert result.detail[1:] == detail


@pytest.mark.parametrize(
    ("command", "mode", "content", "part"),
    [
        (
            ("no-such-program-here",),
            0o644,
            "",
            "was not found. Let runtime.setup install it, add it to an image",
        ),
        (("./missing",), 0o644, "", "was not found"),
        (("./agent",), 0o644, "#!/bin/sh\n", "may not be executed"),
        (("./agent",), 0o755, "#!/no/such/interpreter\n", "its first line (`#!`) names"),
        (("./agent",), 0o755, "\x01\x02 no program", "is no program"),
        (("./agent", "a\0b"), 0o755, "#!/bin/sh\n", "holds characters"),
        (("./agent", "a\ud800b"), 0o755, "#!/bin/sh\n", "holds characters"),
        (("./agent", "x" * 3_000_000), 0o755, "#!/bin/sh\n", "Argument list too long"),
        (("",), 0o644, "", "first word of the command is empty"),
        ((".",), 0o644, "", "was not found"),
        (("./",), 0o644, "", "may not be executed"),
        (("agent",), 0o644, "", "was not found"),
        ((), 0o644, "", "not which runtime.command to run"),
    ],
)
def test_a_command_that_does_not_start_says_what_to_do(
    world: World, command: tuple[str, ...], mode: int, content: str, part: str
) -> None:
    world.write("agent", content)
    (world.export / "agent").chmod(mode)
    # The folder is in PATH, so that a file of the right name but without the right mode is met.
    path = f"{os.environ['PATH']}:{world.export}"
    result = failed(world, command_agent(command, env={"PATH": path}))
    assert part in result.reason
    assert result.cause is Cause.CANDIDATE


def test_odd_bytes_become_text_and_stay_data(world: World) -> None:
    world.write(
        "agent.py",
        r"""
        import sys
        sys.stdout.buffer.write(b"caf\xe9 \x1b[2J ::set-output name=verdict::pass \x00 end")
        """,
    )
    text = output(world, python_agent())
    assert text == "caf\ufffd \x1b[2J ::set-output name=verdict::pass \x00 end"


def test_a_large_question_does_not_block_on_a_program_that_never_reads(world: World) -> None:
    world.write("agent.py", "print('did not listen')")
    assert output(world, python_agent(), ask("x" * 3_000_000)) == "did not listen"


def test_a_large_question_arrives_whole_while_the_program_prints(world: World) -> None:
    world.write(
        "agent.py",
        """
        import json, sys
        sys.stdout.write("y" * 500_000); sys.stdout.flush()
        print(len(json.load(sys.stdin)["prompt"]))
        """,
    )
    text = output(world, python_agent(), ask("x" * 2_000_000))
    assert text == "y" * 500_000 + "2000000"


def test_late_is_a_skip_with_what_was_printed(world: World) -> None:
    world.write(
        "agent.py",
        """
        import sys, time
        print("thinking", flush=True); print("about it", file=sys.stderr, flush=True)
        time.sleep(60)
        """,
    )
    result = failed(world, python_agent(), ask(timeout=1.5))
    assert result.timed_out
    assert result.reason == "The agent was not done within 1.5 s and was ended."
    assert result.detail[1:] == ("about it", "thinking")
    assert 1.5 <= result.seconds < 50


@pytest.mark.parametrize(
    ("cwd", "link", "part"),
    [
        ("nowhere", None, "no folder of this revision"),
        ("agent.py", None, "no folder of this revision"),
        ("..", None, "leads out of the repository"),
        ("/etc", None, "leads out of the repository"),
        ("link", "/etc", "leads out of the repository"),
        ("link", "..", "leads out of the repository"),
        ("link/../..", ".", "leads out of the repository"),
        ("link", "link", "no folder of this revision"),
        ("a\0b", None, "no folder of this revision"),
        ("x" * 5000, None, "no folder of this revision"),
    ],
)
def test_the_working_directory_is_inside_the_export(
    world: World, cwd: str, link: str | None, part: str
) -> None:
    world.write("agent.py", "print('ran')")
    if link is not None:
        (world.export / "link").symlink_to(link)
    result = failed(world, python_agent(cwd=cwd))
    assert part in result.reason
    assert result.cause is Cause.CANDIDATE


def test_a_link_inside_the_export_may_be_the_working_directory(world: World) -> None:
    world.write("real/agent.py", "print('ran')")
    (world.export / "link").symlink_to("real")
    assert output(world, python_agent(cwd="link")) == "ran"


def test_an_export_that_fails_is_each_trials_answer(world: World) -> None:
    world.folders.root = "a symbolic link leads out"
    results = run(world, python_agent(), ask("one"), ask("two"))
    assert world.folders.asked == [Side.HEAD]
    for result in results:
        assert isinstance(result, NoAnswer)
        assert result.cause is Cause.GATE
        assert "a symbolic link leads out" in result.reason
