"""A suite that names files of another repository: pinned by `gateval lock`, read as pinned."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.domain.tree import LOCK_PATH, git_file
from tests.helpers.agentv import TARGETS, agentv
from tests.helpers.command import gateval
from tests.helpers.foreign import Elsewhere, elsewhere
from tests.helpers.repo import Repo

SUITE = """\
evalcases:
  - id: one
    expected_outcome: Keeps to the style
    input:
      - role: user
        content:
          - {{type: text, value: Review this.}}
          - {{type: file, value: '{url}'}}
"""


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Elsewhere]:
    with elsewhere(tmp_path, {"docs/style.md": "Be kind.\n", "logo.png": "\0"}) as served:
        yield served


def team(there: Elsewhere, tmp_path: Path, *, config: str | None = None, path: str = "") -> Repo:
    files = {"evals/a.yaml": SUITE.format(url=there.blob(path or "docs/style.md"))}
    files |= {".github/gateval.yml": there.config if config is None else config}
    return agentv(tmp_path / "repo", files, targets=TARGETS)


def told(repo: Repo, there: Elsewhere, *words: str) -> subprocess.CompletedProcess[str]:
    reach = {name: value for name, value in there.environ.items() if name not in {"PATH", "HOME"}}
    return gateval(repo, *words, **reach)


def locked(repo: Repo, there: Elsewhere) -> None:
    done = told(repo, there, "lock")
    assert done.stdout == f"wrote {LOCK_PATH}: 1 file of other repositories. Commit it.\n"
    repo.commit("Lock")


def asked(repo: Repo, there: Elsewhere) -> str:
    """What the changed case asks, as a plan against the commit before has it."""
    done = told(repo, there, "plan", "--base", "HEAD~1", "--json")
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["evals"][0]["fixtures"][0]["input"])


def test_a_file_is_read_as_it_was_pinned(there: Elsewhere, tmp_path: Path) -> None:
    repo = team(there, tmp_path)
    before = told(repo, there, "validate")
    assert before.returncode == 2
    assert "is not pinned, so it could change unseen. Run `gateval lock`" in before.stdout
    locked(repo, there)
    there.repo.write("docs/style.md", "Be brief.\n")
    there.repo.commit()
    assert told(repo, there, "validate").returncode == 0
    assert "Be kind." in asked(repo, there)
    locked(repo, there)
    assert "Be brief." in asked(repo, there)


def test_a_new_pin_is_an_edit_of_the_bar(there: Elsewhere, tmp_path: Path) -> None:
    repo = team(there, tmp_path)
    locked(repo, there)
    there.repo.write("docs/style.md", "Anything goes.\n")
    there.repo.commit()
    locked(repo, there)
    done = told(repo, there, "plan", "--base", "HEAD~1")
    assert done.returncode == 0
    assert "evals.a-one" in done.stdout


def test_what_was_read_needs_no_server(tmp_path: Path) -> None:
    with elsewhere(tmp_path, {"docs/style.md": "Be kind.\n"}) as there:
        repo = team(there, tmp_path)
        locked(repo, there)
    assert told(repo, there, "validate").returncode == 0
    shutil.rmtree(tmp_path / "cache")
    away = told(repo, there, "validate")
    assert away.returncode == 3
    assert "git did not reach the server" in away.stderr


def test_what_is_pinned_is_compared(there: Elsewhere, tmp_path: Path) -> None:
    repo = team(there, tmp_path)
    locked(repo, there)
    lock = json.loads((repo.path / LOCK_PATH).read_text("utf-8"))
    (entry,) = lock["files"].values()
    entry["sha256"] = "0" * 64
    repo.write(LOCK_PATH, json.dumps(lock))
    done = told(repo, there, "validate")
    assert done.returncode == 3
    assert f"is not what {LOCK_PATH} says." in done.stderr


@pytest.mark.parametrize(
    ("ref", "pin"), [("main", {"path": "logo.png"}), ("a" * 40, {"commit": "b" * 40})]
)
def test_a_lock_pins_what_its_url_names(
    ref: str, pin: dict[str, str], there: Elsewhere, tmp_path: Path
) -> None:
    repo, url = team(there, tmp_path), there.blob("docs/style.md", ref)
    entry = {"commit": there.repo.id("HEAD"), "path": "docs/style.md", "sha256": "0" * 64, **pin}
    repo.write("evals/a.yaml", SUITE.format(url=url))
    repo.write(LOCK_PATH, json.dumps({"version": 1, "files": {url: entry}}))
    repo.commit()
    done = told(repo, there, "validate")
    assert done.returncode == 2
    assert "pins another file for" in done.stdout


def test_each_file_is_asked_for_once(there: Elsewhere, tmp_path: Path) -> None:
    repo = team(there, tmp_path)
    url = there.blob("docs/style.md")
    block = f"[{{role: user, content: [{{type: file, value: '{url}'}}]}}]"
    cases = "".join(f"  - {{id: c{n}, criteria: x, input: {block}}}\n" for n in range(300))
    repo.write("evals/a.yaml", f"tests:\n{cases}")
    repo.commit()
    locked(repo, there)
    assert len(there.server.seen) < 10
    urls = [there.blob("docs/style.md", f"v{n}") for n in range(201)]
    parts = ", ".join(f"{{type: file, value: '{one}'}}" for one in urls)
    repo.write(
        "evals/a.yaml",
        SUITE.partition("    input")[0] + f"    input: [{{role: user, content: [{parts}]}}]\n",
    )
    repo.commit()
    assert "Manifests may name 200 files" in told(repo, there, "validate").stdout


@pytest.mark.parametrize("lock", ["", "[]", '{"version": 2}', '{"version": 1, "files": {"a": {}}}'])
def test_a_lock_that_is_none_is_told(lock: str, there: Elsewhere, tmp_path: Path) -> None:
    repo = team(there, tmp_path)
    repo.write(LOCK_PATH, lock)
    repo.commit()
    done = told(repo, there, "validate")
    assert done.returncode == 2
    assert "is not as `gateval lock` writes it" in done.stdout


def test_the_target_branch_says_which_hosts(there: Elsewhere, tmp_path: Path) -> None:
    """A change that adds a host is not the one that decides about it."""
    repo = team(there, tmp_path)
    locked(repo, there)
    repo.branch("base", "HEAD")
    repo.checkout("base")
    repo.delete(".github/gateval.yml")
    repo.delete("evals/a.yaml")
    repo.commit()
    repo.checkout("main")
    repo.write("evals/a.yaml", (repo.path / "evals/a.yaml").read_text() + "# Again\n")
    repo.commit()
    done = told(repo, there, "check", "--base", "base")
    assert done.returncode == 3
    assert f"on the target branch does not name {there.host}" in " ".join(done.stdout.split())
    assert there.server.seen


def test_nothing_is_asked_of_a_host_that_is_not_named(there: Elsewhere, tmp_path: Path) -> None:
    repo = team(there, tmp_path, config="policy: {sources: [github.com]}\n")
    done = told(repo, there, "lock")
    assert done.returncode == 2
    assert f"does not name {there.host}" in done.stderr
    assert there.server.seen == []


@pytest.mark.parametrize(("path", "said"), [("nope.md", "is no file"), ("logo.png", "is no text")])
def test_what_cannot_be_used_is_told(
    path: str, said: str, there: Elsewhere, tmp_path: Path
) -> None:
    done = told(team(there, tmp_path, path=path), there, "lock")
    assert done.returncode in {2, 3}
    assert said in done.stderr


def test_a_prompt_of_a_judge_may_lie_elsewhere(there: Elsewhere, tmp_path: Path) -> None:
    prompt = f"[{{name: a, type: llm_judge, prompt: '{there.blob('docs/style.md')}'}}]"
    suite = f"evalcases: [{{id: a, expected_outcome: b, input: c, evaluators: {prompt}}}]\n"
    files = {"a.yaml": suite, ".github/gateval.yml": there.config}
    repo = agentv(tmp_path / "repo", files)
    locked(repo, there)
    assert told(repo, there, "validate").returncode == 0


@pytest.mark.parametrize(
    ("url", "choices"),
    [
        ("https://github.com/a/b/blob/main/x.md", [("main", "x.md")]),
        ("https://gitlab.com/g/s/b/-/blob/v1/d/x.md", [("v1", "d/x.md")]),
        ("https://bitbucket.org/a/b/src/main/x%20y.md", [("main", "x y.md")]),
        ("https://a.b/a/b/blob/feat/x/y.md", [("feat/x", "y.md"), ("feat", "x/y.md")]),
    ],
)
def test_urls(url: str, choices: list[tuple[str, str]]) -> None:
    found = git_file(url)
    assert [*found.choices] == choices
    assert found.repository.startswith("https://")
    assert found.repository.endswith(".git")


@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/a/b/blob/main/x.md",
        "https://u:p@github.com/a/b/blob/main/x.md",
        "https://github.com@evil.example/a/b/blob/main/x.md",
        "https://github.com/a/b/blob/main/../x.md",
        "https://github.com/a/b/blob/main/%2e%2e/x.md",
        "https://github.com/a/b/blob/main/a%2fb.md",
        "https://github.com/a/b/blob/main/x.md?token=1",
        "https://github.com/a/b/blob/main/x.md#L1",
        "https://github.com/a/b/blob/main",
        "https://github.com/a/b/blob/-x/y.md",
        "https://github.com/a/blob/main/x.md",
        "https://github.com:x/a/b/blob/main/x.md",
        "https:///a/b/blob/main/x.md",
        "https://github.com/a/b/blob/ma\nin/x.md",
        "https://github.com/a/../b/blob/main/x.md",
        "https://[::1/a/b/blob/main/x.md",
        "file:///etc/passwd",
        "ssh://git@github.com/a/b/blob/main/x.md",
    ],
)
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(ValueError, match="A file of another repository is named by"):
        git_file(url)
