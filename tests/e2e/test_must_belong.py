"""Files that matter and belong to no Agent: named where nothing runs, incomplete if so wished."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.shop import build_shop

CONFIG = ".github/gateval.yml"


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    repo = build_shop(tmp_path / "shop")
    repo.checkout("main")
    repo.write(CONFIG, 'policy: {mustBelong: ["src/**", /tools]}\n')
    repo.write("src/money.py", "x = 1\n")
    repo.write("src/dead.py", "x = 1\n")
    repo.commit()
    repo.branch("edit")
    return repo


def test_a_file_that_must_belong_and_does_not_is_incomplete(shop: Repo) -> None:
    shop.write("src/money.py", "x = 2\n")
    shop.write("tools/build.sh", "true\n")
    shop.delete("src/dead.py")
    shop.write("docs/x.md", "text\n")
    shop.commit()
    done = gateval(shop, "check")
    assert done.returncode == 3, done.stdout
    assert "Gateval: incomplete" in done.stdout
    for name in ("src/money.py", "src/dead.py", "tools/build.sh"):
        assert name in done.stdout
    assert "docs/x.md: changed" not in done.stdout
    assert "policy.mustBelong" in done.stdout


def test_the_target_branch_says_what_must_belong(shop: Repo) -> None:
    shop.write("src/money.py", "x = 2\n")
    shop.write(CONFIG, "policy: {mustBelong: [/src/dead.py]}\n")
    shop.commit()
    done = gateval(shop, "check")
    assert done.returncode == 1, done.stdout
    assert "policy.mustBelong src/**, /tools" in done.stdout
    assert "src/money.py: changed" in done.stdout


def test_what_a_measured_agent_includes_belongs(shop: Repo) -> None:
    manifest = (shop.path / "agents/support.yaml").read_text()
    shop.write("agents/support.yaml", manifest + "  include: [/src/**]\n")
    shop.write("src/money.py", "x = 2\n")
    shop.commit()
    done = gateval(shop, "check")
    assert done.returncode == 0, done.stdout


def test_an_agent_that_nothing_measures_claims_nothing(shop: Repo) -> None:
    shop.write(
        "agents/decoy.yaml",
        "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: decoy}\n"
        "spec: {models: [scripted/support], include: [/src/**]}\n",
    )
    shop.write("src/money.py", "x = 2\n")
    shop.commit()
    assert gateval(shop, "check").returncode == 3


def test_files_that_no_agent_depends_on_are_counted_and_named(shop: Repo) -> None:
    for number in range(12):
        shop.write(f"docs/{number:02}.md", "text\n")
    shop.commit()
    done = gateval(shop, "plan")
    assert done.returncode == 0
    named = ", ".join(f"docs/{number:02}.md" for number in range(10))
    assert f"No Agent depends on the 12 changed files {named} and 2 more." in done.stdout
