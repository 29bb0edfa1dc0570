"""Submodules among an Agent's files: measured with the content that the checkout has, or not at all.

The gate fetches none of them, and reads no content from outside the repository.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, FIXTURES, SCRIPT

GREETS = FIXTURES.split("---\n")[1]
AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  runtime: {type: command, command: [python3, main.py]}
"""
MAIN = """\
import sys
sys.path.insert(0, "vendor/words")
try:
    from words import greeting
except ImportError:
    greeting = "Hello, from the fallback"
print(greeting)
"""
FILE_PROTOCOL = ("-c", "protocol.file.allow=always")


def words(repo: Repo, greeting: str) -> str:
    repo.write("words.py", f"greeting = {greeting!r}\n")
    return repo.commit(greeting)


class Project:
    """A repository with an Agent, and beside it one whose commits are its submodule."""

    def __init__(self, path: Path) -> None:
        self.words = Repo(path / "words")
        self.good = words(self.words, "Hello!")
        self.bad = words(self.words, "Bye!")
        self.repo = Repo(path / "repo")
        self.repo.write("agents/agent.yaml", AGENT)
        self.repo.write("agents/main.py", MAIN)
        self.repo.write("evals/fixtures.yaml", GREETS)
        self.repo.write("evals/eval.yaml", EVAL)
        self.repo.write(".gateval/scripted/support.yaml", SCRIPT)
        self.repo.commit("Begin")

    def add(self, path: str = "agents/vendor/words") -> None:
        self.repo.git(
            *FILE_PROTOCOL, "submodule", "--quiet", "add", "--force", str(self.words.path), path
        )
        self.point(self.good, path)

    def point(self, commit: str, path: str = "agents/vendor/words") -> None:
        """Commit another commit of the submodule, and check it out as `checkout` would."""
        Repo.at(self.repo.path / path).git("checkout", "--quiet", commit)
        self.repo.commit(f"words at {commit[:7]}")

    def clone(self, path: Path, *options: str) -> Repo:
        """Clone it as a runner does, without the content of submodules."""
        clone = Repo.clone(self.repo.path, path, *options)
        clone.git("branch", "--force", "main", "origin/main")
        return clone


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.add()
    made.repo.branch("change")
    return made


def check(repo: Repo, base: str = "main") -> tuple[int, str, dict[str, object]]:
    results = Path(tempfile.mkdtemp(dir=repo.path.parent)) / "results"
    done = gateval(repo, "check", "--base", base, "--head", "HEAD", "--results", str(results))
    file = results / "results.v1.json"
    said = " ".join((done.stdout + done.stderr).split())
    return done.returncode, said, json.loads(file.read_text()) if file.exists() else {}


def outputs(results: dict[str, object]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for trial in results["trials"]:  # type: ignore[attr-defined]
        found.setdefault(trial["key"]["side"], set()).add(trial["output"].strip())
    return found


def test_a_submodule_that_moves_is_measured_with_its_content_on_both_sides(
    project: Project,
) -> None:
    project.point(project.bad)
    code, said, results = check(project.repo)
    assert code == 1, said
    assert outputs(results) == {"head": {"Bye!"}, "base": {"Hello!"}}


def test_a_submodule_that_is_added_is_measured_with_its_content(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.repo.branch("change")
    project.add()
    code, said, results = check(project.repo)
    assert code == 0, said
    assert outputs(results) == {"head": {"Hello!"}, "base": {"Hello, from the fallback"}}


def test_an_included_folder_of_a_submodule_counts(tmp_path: Path) -> None:
    project = Project(tmp_path)
    main = MAIN.replace("vendor/words", "../libs/words")
    project.repo.write("agents/main.py", main)
    project.repo.write("agents/agent.yaml", f"{AGENT}  include: [/libs/words/words.py]\n")
    project.add("libs/words")
    project.repo.branch("change")
    project.point(project.bad, "libs/words")
    code, said, results = check(project.repo)
    assert code == 1, said
    assert outputs(results)["head"] == {"Bye!"}


def test_without_its_content_the_run_is_incomplete_and_says_what_to_do(
    project: Project, tmp_path: Path
) -> None:
    project.point(project.bad)
    clone = project.clone(tmp_path / "clone", "--branch", "change")
    code, said, results = check(clone)
    assert code == 3, said
    assert "incomplete" in said.lower()
    assert "agents/vendor/words" in said
    assert "`submodules: true`" in said
    assert results["trials"] == []
    plan = gateval(clone, "plan", "--base", "main")
    assert "`submodules: true`" in " ".join(plan.stdout.split())


def test_with_the_content_of_one_side_only_it_is_incomplete_too(
    project: Project, tmp_path: Path
) -> None:
    project.point(project.bad)
    clone = project.clone(tmp_path / "clone", "--branch", "change")
    options = ("submodule", "--quiet", "update", "--init", "--depth", "1")
    clone.git("config", "submodule.agents/vendor/words.url", f"file://{project.words.path}")
    clone.git(*FILE_PROTOCOL, *options)
    code, said, _ = check(clone)
    assert code == 3, said
    assert project.good[:7] in said
    assert "merge-base" in said or "base" in said


def test_a_submodule_that_stays_does_not_bother_a_change_of_something_else(
    project: Project, tmp_path: Path
) -> None:
    project.repo.write("agents/main.py", f"{MAIN}# more\n")
    project.repo.commit()
    clone = project.clone(tmp_path / "clone", "--branch", "change")
    code, said, results = check(clone)
    assert code == 0, said
    assert "an empty folder" in said
    code, said, results = check(project.repo)
    assert code == 0, said
    assert outputs(results) == {"head": {"Hello!"}, "base": {"Hello!"}}
    assert "an empty folder" not in said


def test_a_submodule_in_a_submodule_is_measured_too(tmp_path: Path) -> None:
    project = Project(tmp_path)
    outer = Repo(tmp_path / "outer")
    outer.git(*FILE_PROTOCOL, "submodule", "--quiet", "add", str(project.words.path), "words")
    Repo.at(outer.path / "words").git("checkout", "--quiet", project.good)
    first = outer.commit("good")
    Repo.at(outer.path / "words").git("checkout", "--quiet", project.bad)
    second = outer.commit("bad")
    repo = project.repo
    repo.write("agents/main.py", MAIN.replace("vendor/words", "vendor/outer/words"))
    repo.git(*FILE_PROTOCOL, "submodule", "--quiet", "add", str(outer.path), "agents/vendor/outer")
    nested = Repo.at(repo.path / "agents/vendor/outer")
    nested.git(*FILE_PROTOCOL, "submodule", "--quiet", "update", "--init", "--recursive")
    nested.git("checkout", "--quiet", first)
    repo.commit()
    repo.branch("change")
    nested.git("checkout", "--quiet", second)
    repo.commit()
    code, said, results = check(repo)
    assert code == 1, said
    assert outputs(results) == {"head": {"Bye!"}, "base": {"Hello!"}}
    shutil.rmtree(repo.path / ".git/modules/agents/vendor/outer/modules")
    code, said, _ = check(repo)
    assert code == 3, said
    assert "agents/vendor/outer/words" in said


def _linked_modules(project: Project, clone: Repo, apart: Path) -> None:
    """`.git/modules` leads out of the repository by a link."""
    shutil.move(project.repo.path / ".git/modules", apart)
    (clone.path / ".git/modules").symlink_to(apart)


def _linked_store(project: Project, clone: Repo, apart: Path) -> None:
    """The objects of a module lie behind a link."""
    module = clone.path / ".git/modules/agents/vendor/words"
    shutil.copytree(project.repo.path / ".git/modules/agents/vendor/words", module)
    shutil.move(module / "objects", apart)
    (module / "objects").symlink_to(apart)


def _alternates(project: Project, clone: Repo, apart: Path) -> None:
    """A module takes its objects from elsewhere."""
    source = project.repo.path / ".git/modules/agents/vendor/words"
    module = clone.path / ".git/modules/agents/vendor/words"
    shutil.copytree(source, module)
    shutil.move(module / "objects", apart)
    (module / "objects/info").mkdir(parents=True)
    (module / "objects/info/alternates").write_text(f"{apart}\n")


def _git_file(project: Project, clone: Repo, apart: Path) -> None:
    """A `.git` file in the worktree names a repository elsewhere."""
    shutil.move(project.repo.path / ".git/modules/agents/vendor/words", apart)
    (clone.path / "agents/vendor/words/.git").write_text(f"gitdir: {apart}\n")


def _git_link(project: Project, clone: Repo, apart: Path) -> None:
    """`.git` of the submodule's folder is a link to a repository elsewhere."""
    shutil.move(project.repo.path / ".git/modules/agents/vendor/words", apart)
    (clone.path / "agents/vendor/words/.git").symlink_to(apart)


def _folder_link(project: Project, clone: Repo, apart: Path) -> None:
    """The folder above the submodule is a link, as a pull request can commit one."""
    apart.mkdir()
    shutil.copytree(project.repo.path / ".git/modules/agents/vendor/words", apart / "words/.git")
    shutil.rmtree(clone.path / "agents/vendor")
    (clone.path / "agents/vendor").symlink_to(apart)


def _odd_gitmodules(project: Project, clone: Repo, apart: Path) -> None:
    """`.gitmodules` names folders and programs elsewhere; nobody asks it."""
    shutil.move(project.repo.path / ".git/modules/agents/vendor/words", apart)
    clone.write(
        ".gitmodules",
        f'[submodule "../../{apart.name}"]\n\tpath = agents/vendor/words\n'
        f"\turl = ext::sh -c touch% {apart}.fetched\n\tupdate = !touch {apart}.updated\n",
    )


OUTSIDE = (
    _linked_modules, _linked_store, _alternates, _git_file, _git_link, _folder_link, _odd_gitmodules,
)  # fmt: skip


@pytest.mark.parametrize("plant", OUTSIDE, ids=lambda one: one.__name__.strip("_"))
def test_no_content_comes_from_outside_the_repository(
    project: Project, tmp_path: Path, plant: object
) -> None:
    project.point(project.bad)
    clone = project.clone(tmp_path / "clone", "--branch", "change")
    (clone.path / "agents/vendor/words").mkdir(parents=True, exist_ok=True)
    plant(project, clone, tmp_path / "apart")  # type: ignore[operator]
    code, said, _ = check(clone)
    assert code == 3, said
    assert "is not in this checkout" in said
    assert not list(tmp_path.glob("apart.*"))


def test_nothing_is_fetched(project: Project, tmp_path: Path) -> None:
    project.point(project.bad)
    clone = project.clone(tmp_path / "clone", "--branch", "change")
    clone.git("config", "submodule.recurse", "true")
    clone.git("config", "submodule.agents/vendor/words.url", str(project.words.path))
    clone.git("config", "protocol.file.allow", "always")
    code, said, _ = check(clone)
    assert code == 3, said
    assert not (clone.path / ".git/modules").exists()


def test_a_check_of_ones_own_gets_the_content_of_its_submodule(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.repo.write("checks/run.py", "import sys\nsys.path.insert(0, '../checks/words')\nimport words\n"
                       "import json\nprint(json.dumps({'passed': words.greeting == 'Hello!'}))\n")  # fmt: skip
    spec = "{type: script, command: [python3, ../checks/run.py], include: [/checks/words]}"
    text = GREETS.replace("{type: contains, value: Hello}", spec)
    project.repo.write("evals/fixtures.yaml", text)
    project.add("checks/words")
    project.repo.branch("change")
    project.point(project.bad, "checks/words")
    code, said, _ = check(project.repo)
    assert code == 1, said
    clone = project.clone(tmp_path / "clone", "--branch", "change")
    code, said, _ = check(clone)
    assert code == 3, said
    assert "checks/words" in said


@pytest.mark.parametrize("also", ["", "a change of the agent"])
@pytest.mark.parametrize("options", [(), ("--head", "WORKTREE")])
def test_edits_in_a_submodule_that_no_commit_has_are_not_passed_over(
    project: Project, also: str, options: tuple[str, ...]
) -> None:
    words = project.repo.path / "agents/vendor/words"
    (words / "words.py").write_text("greeting = 'Bye!'\n")
    if also:
        project.repo.write("agents/main.py", MAIN + "# the same\n")
    done = gateval(project.repo, "check", "--base", "main", *options)
    said = " ".join(done.stdout.split())
    assert done.returncode == 3, done.stdout + done.stderr
    assert "edits in agents/vendor/words are in no commit of the submodule" in said
    assert "Commit them in the submodule" in said


def test_what_is_untracked_in_a_submodule_does_not_bother(project: Project) -> None:
    (project.repo.path / "agents/vendor/words/notes.txt").write_text("Mine.\n")
    project.repo.write("agents/main.py", MAIN + "# the same\n")
    done = gateval(project.repo, "check", "--base", "main")
    assert done.returncode == 0, done.stdout + done.stderr
