# mypy: disable-error-code="func-returns-value"
# A tuple in a lambda does several things one after the other.
"""Ways to change what an Agent does unseen, each told or without effect; and what stays quiet.

A change is *seen* when an Eval runs for it or the bar is lowered. What no candidate gets has no
effect, so a change of it may be quiet: such attacks are checked by what the export holds.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.domain.plan.plan import Plan
from gateval.domain.problems import InvalidManifests
from gateval.pipeline.exports import ClosureExports
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, FIXTURES, PROMPT, build_shop, plan_of

PROGRAM = AGENT.replace(
    "  tools:", "  runtime: {type: command, command: [python3, run.py]}\n  tools:"
)
CODE = "".join(f"LINE_{number} = {number}\n" for number in range(60))
INCLUDING = PROGRAM.replace(
    "  tools:", "  include: [/libs/common/**, /uv.lock, '/data/*.csv']\n  tools:"
)
Step = Callable[[Repo], object]


def build(path: Path) -> Repo:
    """A workspace: an Agent that includes a library and the lock file at the root."""
    repo = build_shop(path)
    repo.checkout("main")
    repo.write("agents/support.yaml", INCLUDING)
    repo.write("agents/run.py", CODE)
    repo.write("agents/Tools.py", "x = 1\n")
    repo.write("libs/common/money.py", CODE)
    repo.write("libs/other/tax.py", CODE)
    repo.write("data/prices.csv", "a,1\n")
    repo.write("uv.lock", "version = 1\n")
    repo.write("pyproject.toml", "[tool.uv.workspace]\n")
    repo.write("generated/client.py", "x = 1\n")
    repo.link("agents/generated", "../generated")
    repo.link("agents/shared.py", "../libs/other/tax.py")
    repo.commit()
    repo.branch("attack")
    return repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return build(tmp_path / "repo")


def manifest(repo: Repo, old: str, new: str, path: str = "agents/support.yaml") -> None:
    text = (repo.path / path).read_text()
    assert old in text
    repo.write(path, text.replace(old, new))


def submodule(repo: Repo, path: str, commit: str) -> None:
    (repo.path / path).mkdir(parents=True, exist_ok=True)
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{path}")
    repo.git("commit", "--quiet", "--message=submodule")


def relink(repo: Repo, path: str, target: str) -> None:
    repo.delete(path)
    repo.link(path, target)


def copied(repo: Repo, target: str = "copies/a") -> None:
    shutil.copytree(repo.path / "agents", repo.path / target, symlinks=True)
    repo.delete("agents/support.yaml")


def copied_with(change: Step) -> Step:
    def step(repo: Repo) -> None:
        copied(repo)
        change(repo)

    return step


def then(*steps: Step) -> Step:
    def step(repo: Repo) -> None:
        for one in steps:
            one(repo)

    return step


SEEN: dict[str, Step] = {
    "the included library": lambda r: r.write("libs/common/money.py", "x = 2\n"),
    "the lock file at the workspace's root": lambda r: r.write("uv.lock", "version = 2\n"),
    "a file that a pattern takes in": lambda r: r.write("data/prices.csv", "a,2\n"),
    "a new file that a pattern takes in": lambda r: r.write("data/more.csv", "b,2\n"),
    "a new file beside the program that shadows a module": lambda r: r.write("agents/json.py", "x"),
    "a new file beside the library": lambda r: r.write("libs/common/sitecustomize.py", "x = 1\n"),
    "a file behind a link": lambda r: r.write("libs/other/tax.py", "x = 2\n"),
    "another target of a link": lambda r: relink(r, "agents/shared.py", "../libs/common/money.py"),
    "a link in the place of a file": lambda r: relink(r, "agents/run.py", "../libs/other/tax.py"),
    "a file in the place of a link": then(lambda r: r.delete("agents/shared.py"), lambda r: r.write("agents/shared.py", "x = 9\n")),
    "a generated file behind a linked folder": lambda r: r.write("generated/client.py", "x = 2\n"),
    "a new generated file there": lambda r: r.write("generated/extra.py", "x = 2\n"),
    "the executable bit": lambda r: (r.path / "agents/run.py").chmod(0o755),
    "another case of a name": lambda r: r.rename("agents/Tools.py", "agents/tools.py"),
    "a name that differs in case only, beside it": lambda r: r.write("agents/tools.py", "x = 2\n"),
    "a name in another Unicode form": lambda r: r.write("agents/cafe\u0301.py", "x = 1\n"),
    "bytes that are no text": lambda r: r.write(os.fsdecode(b"agents/\xff.py"), "x = 1\n"),
    "a submodule among its files": lambda r: submodule(r, "agents/vendor", "1" * 40),
    "an ignored file, tracked all the same": then(lambda r: r.write(".gitignore", "*.pyc\n"), lambda r: r.write("agents/run.pyc", "x"), lambda r: r.git("add", "--force", "agents/run.pyc")),
    "attributes that would hide it from an archive": lambda r: r.write(
        "agents/.gitattributes", "run.py export-ignore\n"
    ),
    "a copy, the manifest moved": copied,
    "a copy, the original spoiled": copied_with(lambda r: r.write("agents/run.py", "spoiled\n")),
    "a copy, the original turned into a link": copied_with(
        lambda r: relink(r, "agents/run.py", "../libs/other/tax.py")
    ),
    "a copy, the original's content elsewhere": copied_with(
        then(lambda r: r.rename("agents/run.py", "moved/run.py"), lambda r: r.delete("agents"))
    ),
    "a copy, the program that stays is included": copied_with(
        lambda r: manifest(r, "[/libs/common", "[/agents/Tools.py, /libs/common",
                           "copies/a/support.yaml")
    ),
    "cwd moved to a copy": then(lambda r: shutil.copytree(r.path / "agents", r.path / "copies/a", symlinks=True), lambda r: r.delete("copies/a/support.yaml"), lambda r: manifest(r, "{type: command", "{cwd: /copies/a, type: command")),
    "an include left out": lambda r: manifest(r, "/libs/common/**, ", ""),
    "an include that names a copy": then(lambda r: shutil.copytree(r.path / "libs/common", r.path / "libs/copy"), lambda r: manifest(r, "/libs/common/**", "/libs/copy/**")),
    "a watch that leaves the library out": lambda r: manifest(
        r, "  include: [/libs/common/**, /uv.lock, '/data/*.csv']", "  watch: [run.py]"
    ),
    "a setting turned into a fixture": lambda r: r.write(
        "data/prices.csv", FIXTURES.split("---\n")[0].replace("refund-asks-why", "extra")
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SEEN)
def test_no_change_of_what_a_candidate_gets_is_quiet(repo: Repo, case: str) -> None:
    SEEN[case](repo)
    if "submodule" not in case:
        repo.commit()
    try:
        plan = plan_of(repo)
    except InvalidManifests:
        return  # refused before anything runs
    assert [change.agent for change in plan.changes] == ["support"]
    if "submodule" in case:  # whose content is not here
        assert plan.lacking
        assert plan.binds
        return
    assert [one.name for one in plan.evals if one.bar is None] == ["support-eval"]


LOWERED = [case for case in SEEN if case.startswith(("a copy", "cwd", "an include", "a watch"))]


@pytest.mark.parametrize("case", [one for one in LOWERED if "elsewhere" not in one])
def test_moving_away_lowers_the_bar(repo: Repo, case: str) -> None:
    SEEN[case](repo)
    repo.commit()
    lost = [one.what for one in plan_of(repo).lost]
    assert lost, "an authorised person has to accept it"
    assert "no longer depends on" in lost[0]


HARMLESS: dict[str, Step] = {
    "a comment in the manifest": lambda r: manifest(r, "spec:", "# why\nspec:"),
    "another order of keys": lambda r: manifest(
        r, "{type: command, command: [python3, run.py]}", "{command: [python3, run.py], type: command}"
    ),
    "a label of the Agent": lambda r: manifest(r, "name: support\n", "name: support\n  labels: {a: b}\n"),
    "other quotes": lambda r: manifest(r, "scripted/support", "'scripted/support'"),
    "line ends of the manifest": lambda r: r.write(
        "agents/support.yaml", (r.path / "agents/support.yaml").read_text().replace("\n", "\r\n")
    ),
    "the manifest's name": lambda r: r.rename("agents/support.yaml", "agents/desk.yml"),
    "a comment in a fixture": lambda r: r.write("evals/fixtures.yaml", f"# easy\n{FIXTURES}"),
    "fixtures in another file": lambda r: r.rename("evals/fixtures.yaml", "evals/all.yaml"),
    "a library of others": lambda r: r.write("libs/unused/x.py", "x = 1\n"),
    "the workspace's own settings": lambda r: r.write("pyproject.toml", "[tool.ruff]\n"),
    "documents": lambda r: r.write("README.md", "A better shop.\n"),
    "a workflow": lambda r: r.write(".github/workflows/ci.yml", "on: push\n"),
    "the gate's own folder": lambda r: r.write(".gateval/results/x.json", "{}\n"),
    "a submodule elsewhere": lambda r: submodule(r, "vendor/x", "1" * 40),
    "a link elsewhere": lambda r: r.link("docs/agent.py", "../agents/run.py"),
    "a link out of the repository elsewhere": lambda r: r.link("docs/hosts", "/etc/hosts"),
    "a large file elsewhere": lambda r: r.write("media/clip.bin", b"x" * 100_000),
    "a folder whose name begins alike": lambda r: r.write("libs/common2/money.py", "x = 1\n"),
}  # fmt: skip

REFACTORINGS: dict[str, Step] = {
    "the whole folder, to one as deep": lambda r: r.rename("agents", "bots"),
    "the prompt's name, with what names it": then(lambda r: r.write("agents/support.yaml", AGENT), lambda r: r.commit(), lambda r: r.branch("prompt"), lambda r: r.rename("agents/prompts/support.md", "agents/prompts/desk.md"), lambda r: manifest(r, "support.md", "desk.md")),
    "the prompt from its file into the manifest": then(lambda r: r.write("agents/support.yaml", AGENT), lambda r: r.commit(), lambda r: r.branch("inline"), lambda r: r.delete("agents/prompts/support.md"), lambda r: manifest(r, "{file: prompts/support.md}", "|\n    " + PROMPT.replace("\n", "\n    ").rstrip())),
    "the fixtures into the Agent's folder": lambda r: r.rename("evals/fixtures.yaml", "agents/checks.yaml"),
    "the Eval into the Agent's folder": lambda r: r.rename("evals/support-eval.yaml", "agents/eval.yaml"),
}  # fmt: skip


@pytest.mark.parametrize("case", [*HARMLESS, *REFACTORINGS])
def test_what_changes_nothing_asks_nothing(repo: Repo, case: str) -> None:
    before = repo.id("HEAD")
    {**HARMLESS, **REFACTORINGS}[case](repo)
    base = repo.id("HEAD") if repo.id("HEAD") != before and "submodule" not in case else before
    if "submodule" not in case:
        repo.commit()
    plan = plan_of(repo, base=base)
    assert plan.changes == ()
    assert plan.evals == ()
    assert not plan.binds


def test_what_no_candidate_gets_is_not_there_whatever_stands_in_the_repository(repo: Repo) -> None:
    repo.write("agents/run.py", f"{CODE}x = 2\n")
    repo.write(".github/gateval.yml", "policy: {}\n")
    repo.commit()
    plan = plan_of(repo)
    assert exported(repo, plan) == {
        "agents/Tools.py", "agents/generated", "agents/prompts/support.md", "agents/run.py",
        "agents/shared.py", "data/prices.csv", "generated/client.py", "libs/common/money.py",
        "libs/other/tax.py", "uv.lock",
    }  # fmt: skip


def exported(repo: Repo, plan: Plan) -> set[str]:
    agent = plan.agents[0]
    with tempfile.TemporaryDirectory() as scratch:
        exports = ClosureExports(open_repository(repo.path, repo.env), plan, Path(scratch))
        folder = asyncio.run(exports.folder(agent, {}))
        return {
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_symlink() or path.is_file()
        }
