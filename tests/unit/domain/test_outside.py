"""Paths out of an Agent's files that its manifest shows: where they lead, and what leads nowhere."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.manifests.agent import Agent, AgentSpec, RuntimeSpec
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.planning.closure import changed_folders, literals
from gateval.domain.planning.outside import added_outside, outside_paths
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import SourceLocation
from gateval.domain.tree import Revision, TreeEntry
from tests.helpers.tiers import examples

FILES = (
    "agents/desk/run.py",
    "agents/desk/src/inner.py",
    "agents/desk/agent.yaml",
    "agents/other/run.py",
    "linked/brain.py",
    "lib/brain.py",
    "lib/deep/rules.py",
    "my tools/agent.py",
    "tools/agent.py",
    "tools/hook.js",
    "args.txt",
    "uv.lock",
)
LINKS = {"agents/desk/out": "../../linked", "short": "lib"}
SUBMODULE = "vendor/sub"


def snapshot(agent: Agent) -> Snapshot:
    tree = {path: TreeEntry("100644", "0" * 40) for path in FILES}
    tree |= {path: TreeEntry("120000", "1" * 40) for path in LINKS}
    tree[SUBMODULE] = TreeEntry("160000", "2" * 40)
    revision = Revision(name="HEAD", commit="3" * 40, tree="4" * 40)
    paths = frozenset({"agents/desk/agent.yaml"})
    return Snapshot(revision, tree, Catalogue(agents=(agent,)), paths, links=LINKS)


def agent(runtime: dict[str, object], **spec: object) -> Agent:
    made = RuntimeSpec.model_validate({"type": "command", **runtime})
    return Agent(
        name="desk",
        spec=AgentSpec.model_validate({"runtime": made, **spec}),
        place=SourceLocation(file="agents/desk/agent.yaml"),
        path="agents/desk/agent.yaml",
        digest="x",
    )


def led(word: str, key: str = "command", **spec: object) -> set[str]:
    runtime: dict[str, object] = {"command": ("python3", "run.py")}
    if key == "env":
        runtime["env"] = {"NAME": word}
    else:
        runtime[key] = ("sh", "-c", word)
    return {one.path for one in outside_paths(snapshot(agent(runtime, **spec)))}


LEADS = {
    "python3 ../../tools/agent.py": {"tools/agent.py"},
    "exec python3 -u '../../my tools/agent.py'": {"my tools/agent.py"},
    'python3 "../../tools/agent.py" --port {port}': {"tools/agent.py"},
    "cd ../.. && python3 tools/agent.py": {"tools/agent.py"},
    "cd ../../tools && python3 agent.py": {"tools/agent.py"},
    "(cd ../../lib; ls)": {"lib"},
    "cd ../..; make": {""},
    "-r../../tools/hook.js": {"tools/hook.js"},
    "node --require=../../tools/hook.js x.js": {"tools/hook.js"},
    "--require../../tools/hook.js": {"tools/hook.js"},
    "@../../args.txt": {"args.txt"},
    "-d@../../args.txt": {"args.txt"},
    "--data=@../../args.txt": {"args.txt"},
    "PYTHONPATH=../../lib python3 run.py": {"lib"},
    "PYTHONPATH=.:../../lib:/usr/lib": {"lib"},
    "NODE_OPTIONS='--require ../../tools/hook.js' node x.js": {"tools/hook.js"},
    "env -S \"python3 '../../tools/agent.py'\"": {"tools/agent.py"},
    "python3 -c 'exec(open(\"../../tools/agent.py\").read())'": {"tools/agent.py"},
    "cat <../../args.txt >/dev/null": {"args.txt"},
    "x=$(cat ../../args.txt)": {"args.txt"},
    "pip install -e ../../lib[dev]": {"lib"},
    "--files=[../../args.txt,../../uv.lock]": {"args.txt", "uv.lock"},
    "pip install file:../../lib": {"lib"},
    "pip install lib@../../lib": {"lib"},
    "pytest ../../lib/brain.py::test": {"lib/brain.py"},
    "PYTHONPATH=$PWD/../../lib python3 run.py": {"lib"},
    "PYTHONPATH=$(pwd)/../../lib python3 run.py": {"lib"},
    "python3 ../other/run.py": {"agents/other/run.py"},
    "python3 ..": {"agents"},
    "python3 ../..": {""},
    "python3 ../../lib ../../lib/brain.py": {"lib/brain.py"},
    "python3 ../../vendor/sub/x.py": {SUBMODULE},
    "python3 ../../short/brain.py": {"short"},
    "cat ./agent.yaml": {"agents/desk/agent.yaml"},
    "cat ../../uv.lock ../../args.txt": {"uv.lock", "args.txt"},
    "unclosed ' ../../args.txt": {"args.txt"},
}

LEADS_NOWHERE = (
    "",
    "python3 run.py",
    "python3 ./src/inner.py src",
    "python3 .",
    "python3 ../desk/run.py",
    "python3 out/brain.py",
    "https://example.com/a/../../lib",
    "https://example.com/../../lib/brain.py",
    "git@example.com:lib/brain.py",
    "http://localhost:{port}/lib/brain.py",
    "/lib/brain.py",
    "~/../../lib",
    "/usr/bin/env",
    "HEAD..main",
    "main...topic",
    "1..10",
    "../../lib/*.py",
    "../../[lt]*/agent.py",
    "../../{lib,tools}/agent.py",
    "{playground}/../../lib",
    "$ROOT/../../lib",
    "${ROOT}/../../lib/brain.py",
    "../../nothing/here.py",
    "../../../../../../etc/passwd",
    "--level=../debug",
    "-x../../y",
    "openai/gpt-4o",
    "lib",
    "tools",
    "uv.lock",
    "args.txt",
    "...",
    "a..b/c..d",
    "x" * 100_000 + "/..",
    "'" * 9_999,
)


@pytest.mark.parametrize("key", ["command", "setup", "before", "env"])
@pytest.mark.parametrize("text", LEADS)
def test_a_literal_is_followed_as_the_system_would(text: str, key: str) -> None:
    assert led(text, key) == LEADS[text]


@pytest.mark.parametrize("key", ["command", "env"])
@pytest.mark.parametrize("text", LEADS_NOWHERE)
def test_what_only_looks_like_a_path_is_left_alone(text: str, key: str) -> None:
    assert led(text, key) == set()


@pytest.mark.parametrize(
    ("text", "include"),
    [
        ("python3 ../../tools/agent.py", "/tools/agent.py"),
        ("python3 ../../tools/agent.py", "/tools/*.py"),
        ("PYTHONPATH=../../lib x", "/lib/**"),
        ("PYTHONPATH=../../lib x", "/lib/deep/**"),
        ("PYTHONPATH=../../lib x", "/lib/*.py"),
        ("python3 ../..", "/**"),
        ("python3 ../..", "/lib"),
        ("cd ../.. && python3 tools/agent.py", "/tools/agent.py"),
        ("cat ./agent.yaml", "agent.yaml"),
    ],
)
def test_who_says_which_part_is_needed_is_not_asked_again(text: str, include: str) -> None:
    assert led(text, include=(include,)) == set()


def test_a_folder_is_not_declared_by_what_is_elsewhere() -> None:
    assert led("PYTHONPATH=../../lib x", include=("/tools/**",)) == {"lib"}
    assert led("python3 ../..", include=("src/**",)) == {""}


def test_a_watch_that_leaves_a_folder_out_is_told_of() -> None:
    assert led("PYTHONPATH=./src", "env", watch=("run.py",)) == {"agents/desk/src"}
    assert led("PYTHONPATH=.", "env", watch=("run.py",)) == set()


def test_only_what_base_does_not_have_is_a_problem() -> None:
    head = snapshot(agent({"command": ("sh", "-c", "cat ../../args.txt ../../uv.lock")}))
    base = snapshot(agent({"command": ("sh", "-c", "cat ../../args.txt")}))
    assert len(added_outside(head, None)) == 2
    (problem,) = added_outside(head, base)
    assert "uv.lock" in problem.message
    assert added_outside(base, head) == ()


PIECES = ("..", ".", "/", "lib", "tools/agent.py", "cd ", "'", '"', " ", "=", ":", "@", "-r", "$", "{",
          "}", "\\", "\0", "\n", "&&", "[", "]", "é", "\udcff", "*", "~")  # fmt: skip


@settings(max_examples=examples(300))
@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_no_text_is_too_odd(text: str) -> None:
    for path in led(text):
        assert not path.startswith(("/", "agents/desk/"))
    assert not any(one.startswith("/") for one in literals(text))
    list(changed_folders(text))
