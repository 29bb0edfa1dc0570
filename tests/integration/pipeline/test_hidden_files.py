"""What a candidate can read is what counts: manifests and the gate's own folder are kept from it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateval.adapters.git.repository import open_repository
from gateval.domain.plan.plan import Plan
from gateval.pipeline.exports import ClosureExports
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, FIXTURES, build_shop, plan_of

PROGRAM = AGENT.replace(
    "  tools:", "  runtime: {type: command, command: [python3, run.py]}\n  tools:"
)
FOREIGN = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: tone}\ndata: {tone: kind}\n"


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """An Agent that is a program, beside fixtures and a foreign document in its own file."""
    repo = build_shop(tmp_path / "shop")
    repo.checkout("main")
    repo.write("agents/support.yaml", PROGRAM + FOREIGN)
    repo.write("agents/run.py", "print('hi')\n")
    repo.write("agents/tests/fixtures.yaml", FIXTURES)
    repo.delete("evals/fixtures.yaml")
    repo.write(".gateval/answers.json", "{}\n")
    repo.commit()
    repo.branch("edit")
    return repo


def reasons(plan: Plan) -> list[str]:
    return [str(reason) for change in plan.changes for reason in change.reasons]


def exported(repo: Repo, plan: Plan, tmp_path: Path) -> set[str]:
    """Every file that a candidate of head would find."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    exports = ClosureExports(open_repository(repo.path, repo.env), plan, scratch)
    agent = plan.agent(plan.evals[0].agent, plan.evals[0].sides[-1])
    assert agent is not None
    folder = asyncio.run(exports.folder(agent, {}))
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_a_candidate_finds_neither_manifests_nor_what_is_the_gates(
    shop: Repo, tmp_path: Path
) -> None:
    shop.write("agents/run.py", "print('hello')\n")
    shop.commit()
    plan = plan_of(shop)
    files = exported(shop, plan, tmp_path)
    assert files == {"agents/run.py", "agents/prompts/support.md"}
    (folder,) = (tmp_path / "scratch").glob("files-*/agents/tests")
    assert folder.is_dir(), "a working directory is there, though all its files are hidden"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".gateval/answers.json", '{"a": 1}\n'),
        ("agents/support.yaml", PROGRAM + FOREIGN.replace("kind}", "rude}")),
        ("agents/tests/fixtures.yaml", f"# easy\n{FIXTURES}"),
    ],
)
def test_what_a_candidate_cannot_read_does_not_count(
    shop: Repo, tmp_path: Path, path: str, text: str
) -> None:
    shop.write(path, text)
    shop.commit()
    assert reasons(plan_of(shop)) == []
    shop.write("agents/run.py", "print('hello')\n")
    shop.commit()
    assert path not in exported(shop, plan_of(shop), tmp_path)


WATCHED = {
    "its own manifest": ("[., support.yaml]", "agents/support.yaml", PROGRAM + FOREIGN),
    "a file of the gate": ("[., /.gateval/answers.json]", ".gateval/answers.json", '{"a": 1}\n'),
    "a folder of the gate": ("[., /.gateval/**]", ".gateval/answers.json", '{"a": 1}\n'),
    "files of the gate": ("[., '/.gateval/*.json']", ".gateval/answers.json", '{"a": 1}\n'),
    "fixtures": ("[., tests/fixtures.yaml]", "agents/tests/fixtures.yaml", f"# x\n{FIXTURES}"),
}


@pytest.mark.parametrize("case", WATCHED)
def test_what_watch_names_counts_and_is_there(shop: Repo, tmp_path: Path, case: str) -> None:
    watch, path, text = WATCHED[case]
    watching = PROGRAM.replace("  tools:", f"  watch: {watch}\n  tools:")
    shop.write("agents/support.yaml", watching + FOREIGN)
    shop.commit()
    shop.branch("next")
    if path == "agents/support.yaml":
        text = watching + FOREIGN.replace("kind}", "rude}")
    shop.write(path, text)
    shop.commit()
    plan = plan_of(shop, base="edit")
    assert reasons(plan) == [f"{path} changed"]
    assert path in exported(shop, plan, tmp_path)


def test_a_pattern_that_takes_in_everything_names_nothing(shop: Repo) -> None:
    watching = PROGRAM.replace("  tools:", "  watch: ['/**', '*.yaml']\n  tools:")
    shop.write("agents/support.yaml", watching + FOREIGN)
    shop.commit()
    shop.branch("next")
    shop.write("agents/tests/fixtures.yaml", f"# x\n{FIXTURES}")
    shop.write(".gateval/answers.json", '{"a": 1}\n')
    shop.commit()
    assert reasons(plan_of(shop, base="edit")) == []


def test_a_file_that_only_mentions_us_is_code(shop: Repo) -> None:
    shop.write("agents/config.yaml", "# for gateval/v1\ntone: kind\n")
    shop.commit()
    shop.branch("next")
    shop.write("agents/config.yaml", "# for gateval/v1\ntone: rude\n")
    shop.commit()
    assert reasons(plan_of(shop, base="edit")) == ["agents/config.yaml changed"]
    assert all("agents/config.yaml" not in one.paths for one in plan_of(shop, base="edit").hidden)


def test_a_file_that_becomes_a_manifest_is_missed(shop: Repo) -> None:
    """Else a setting could be changed and, by a fixture beside it, kept from being measured."""
    shop.write("agents/config.yaml", "tone: kind\n")
    shop.write("agents/notes.yaml", "seen: 1\n")
    shop.commit()
    shop.branch("next")
    extra = FIXTURES.split("---\n")[0].replace("refund-asks-why", "extra")
    shop.write("agents/config.yaml", f"tone: rude\n---\n{extra}")
    shop.write("agents/new.yaml", extra.replace("extra", "another"))
    shop.commit()
    plan = plan_of(shop, base="edit")
    assert reasons(plan) == ["agents/config.yaml removed"]
    assert [one.what for one in plan.lost] == [
        "Agent support no longer depends on 1 file: agents/config.yaml"
    ]


def test_a_file_that_watch_no_longer_names_is_missed(shop: Repo) -> None:
    watching = PROGRAM.replace("  tools:", "  watch: [., /.gateval/answers.json]\n  tools:")
    shop.write("agents/support.yaml", watching)
    shop.commit()
    shop.branch("next")
    shop.write("agents/support.yaml", PROGRAM)
    shop.write(".gateval/answers.json", '{"a": 1}\n')
    shop.commit()
    assert [one.what for one in plan_of(shop, base="edit").lost] == [
        "Agent support no longer depends on 1 file: .gateval/answers.json"
    ]
