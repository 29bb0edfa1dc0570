"""A benchmark that another repository publishes, pinned and run on an Agent of this one."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.domain.tree import LOCK_PATH
from tests.helpers.benchmarks import TASKS, manifest
from tests.helpers.command import gateval
from tests.helpers.foreign import Elsewhere, elsewhere
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, PROMPT, SCRIPT
from tests.helpers.tiers import some_always
from tests.servers.github.server import GitHubServer

PUBLISHED = manifest(TASKS).replace("targetAgent: support", "targetAgent: theirs")

OURS = """\
apiVersion: gateval/v1
kind: Benchmark
metadata: {{name: their-desk}}
spec:
  from: {url}
  targetAgent: support
"""


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Elsewhere]:
    files = {
        "bench/desk.yaml": PUBLISHED,
        "bench/held.yaml.age": "-----BEGIN AGE ENCRYPTED FILE-----\n",
        "bench/two.yaml": f"{PUBLISHED}---\n{PUBLISHED}",
        "bench/none.yaml": "a: 1\n",
        "bench/odd.yaml": PUBLISHED.replace("instruction: Hello", "instruction: 7"),
        "bench/ground.yaml": PUBLISHED.replace(
            "  tasks:", "  playground: {folder: data}\n  tasks:"
        ),
    }
    with elsewhere(tmp_path, files) as served:
        yield served


def solver(there: Elsewhere, path: Path, file: str = "bench/desk.yaml", config: str = "") -> Repo:
    """A repository with an Agent of its own that takes part in the published benchmark."""
    shop = Repo(path)
    shop.write("agents/support.yaml", AGENT)
    shop.write("agents/prompts/support.md", PROMPT)
    shop.write(".gateval/scripted/support.yaml", SCRIPT)
    shop.write(".github/gateval.yml", config or there.config)
    shop.write("bench/theirs.yaml", OURS.format(url=there.blob(file)))
    shop.commit()
    return shop


def told(shop: Repo, there: Elsewhere, *words: str) -> subprocess.CompletedProcess[str]:
    reach = {name: value for name, value in there.environ.items() if name not in {"PATH", "HOME"}}
    return gateval(shop, *words, **reach)


def lock(shop: Repo, there: Elsewhere) -> None:
    done = told(shop, there, "lock")
    assert done.returncode == 0, done.stderr
    shop.commit("Lock")


def test_it_runs_as_its_owners_wrote_it_on_ones_own_agent(there: Elsewhere, tmp_path: Path) -> None:
    shop = solver(there, tmp_path / "shop")
    lock(shop, there)
    there.repo.write("bench/desk.yaml", PUBLISHED.replace("Done", "Never"))
    there.repo.commit()
    out = tmp_path / "out"
    done = told(shop, there, "run", "their-desk", "--results", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((out / "results.v1.json").read_text("utf-8"))
    (planned,) = results["plan"]["evals"]
    assert (planned["name"], planned["version"], planned["agent"]) == ("their-desk", "2", "support")
    scores = {one["key"]["fixture"]: one["score"] for one in results["trials"]}
    assert scores == {"their-desk.refund": 0.8, "their-desk.greet": 1}, "as it was pinned"
    assert "bench/theirs.yaml:3" in done.stdout, "places are here, where they can be mended"


@pytest.mark.parametrize(
    ("file", "why"),
    some_always(
        [
            ("bench/held.yaml.age", "its owners hold the key. Open a pull request"),
            ("bench/two.yaml", "holds 2 benchmarks"),
            ("bench/odd.yaml", "that this version reads: at 15:"),
            ("bench/none.yaml", "holds no benchmarks"),
            ("bench/ground.yaml", "names files of its repository"),
            ("bench/absent.yaml", "no file"),
        ],
        2,
        spread=True,
    ),
)
def test_what_cannot_be_taken_over_is_told(
    there: Elsewhere, tmp_path: Path, file: str, why: str
) -> None:
    shop = solver(there, tmp_path / "shop", file)
    done = told(shop, there, "lock")
    assert done.returncode in {2, 3}
    assert why in done.stdout + done.stderr
    assert not (shop.path / LOCK_PATH).exists()


def test_neither_another_host_nor_what_is_not_pinned_is_asked(
    there: Elsewhere, tmp_path: Path
) -> None:
    shop = solver(there, tmp_path / "shop", config="policy: {}\n")
    said = told(shop, there, "validate").stdout
    assert "bench/theirs.yaml:5:" in said
    assert "policy.sources" in said
    shop.write(".github/gateval.yml", there.config)
    shop.commit()
    assert "is not pinned" in told(shop, there, "validate").stdout


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("  timeoutSeconds: 9\n", "`timeoutSeconds` is what the published benchmark says"),
        ("  tasks: [{name: a, instruction: b}]\n", "has `tasks`, or takes them `from` another one"),
    ],
)
def test_nothing_but_the_agent_is_said_here(
    there: Elsewhere, tmp_path: Path, more: str, why: str
) -> None:
    shop = solver(there, tmp_path / "shop")
    shop.write("bench/theirs.yaml", OURS.format(url=there.blob("bench/desk.yaml")) + more)
    done = told(shop, there, "validate")
    assert done.returncode == 2
    assert why in done.stdout, done.stdout


def test_a_new_pin_is_an_edit_of_the_bar(there: Elsewhere, tmp_path: Path) -> None:
    shop = solver(there, tmp_path / "shop")
    lock(shop, there)
    there.repo.write("bench/desk.yaml", PUBLISHED.replace("value: Done", "value: Do"))
    there.repo.commit()
    shop.branch("next")
    lock(shop, there)
    done = told(shop, there, "check", "--base", "main")
    said = " ".join(done.stdout.split())
    assert "of fixture their-desk.refund" in said, said


def test_a_forks_word_fetches_nothing_and_is_never_green(
    there: Elsewhere, github_server: GitHubServer, tmp_path: Path
) -> None:
    known = solver(there, tmp_path / "shop")
    lock(known, there)
    names = ("bench/theirs.yaml", LOCK_PATH)
    files = {name: (known.path / name).read_text("utf-8") for name in names}
    shop = GitHubShop(github_server, tmp_path / "github")
    shop.push_main(**{".github__gateval.yml": there.config})
    pull = shop.open_fork_pull(SAME, files)
    asked = len(there.server.seen)
    read = shop.token(contents="read", pull_requests="read", checks="read")
    ended = shop.on_pull(pull, token=read, actor="mallory").run_action()
    assert ended.code == 3, ended.log
    assert "fetched in trusted runs only" in ended.errors + ended.log + ended.summary
    assert len(there.server.seen) == asked
