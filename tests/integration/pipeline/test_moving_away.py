"""Moving away is a change: what an Agent no longer depends on, though it is there, is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gateval.domain.plan.plan import Plan
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, PROMPT, build_shop, plan_of

PROGRAM = AGENT.replace(
    "  tools:", "  runtime: {type: command, command: [python3, run.py]}\n  tools:"
)
LONG = "".join(f"LINE_{number} = {number}\n" for number in range(60))
STILL = "still there, but no longer a file of this Agent"


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    """An Agent that is a program, alone in its folder."""
    repo = build_shop(tmp_path / "shop")
    repo.checkout("main")
    repo.write("agents/support.yaml", PROGRAM)
    repo.write("agents/run.py", LONG)
    repo.commit()
    repo.branch("edit")
    return repo


def reasons(plan: Plan) -> list[str]:
    return [str(reason) for change in plan.changes for reason in change.reasons]


def lost(plan: Plan) -> list[str]:
    return [one.what for one in plan.lost]


def copy(repo: Repo, old: str, new: str) -> None:
    shutil.copytree(repo.path / old, repo.path / new)


def test_a_copy_with_the_manifest_moved_to_it_is_a_lowered_bar(shop: Repo) -> None:
    copy(shop, "agents", "copies/a")
    shop.delete("agents/support.yaml")
    shop.write("agents/run.py", "raise SystemExit('spoiled')\n")
    shop.commit()
    plan = plan_of(shop)
    assert reasons(plan) == [f"agents/prompts/support.md {STILL}", f"agents/run.py {STILL}"]
    assert lost(plan) == [
        "Agent support no longer depends on 2 files: agents/prompts/support.md, agents/run.py"
    ]
    assert [one.name for one in plan.evals] == ["support-eval"]


def test_so_is_the_first_of_two_changes_of_which_the_second_spoils_it(shop: Repo) -> None:
    copy(shop, "agents", "copies/a")
    shop.delete("agents/support.yaml")
    shop.commit()
    first = plan_of(shop)
    assert f"agents/run.py {STILL}" in reasons(first)
    assert lost(first)
    shop.branch("second")
    shop.write("agents/run.py", "raise SystemExit('spoiled')\n")
    shop.commit()
    second = plan_of(shop, base="edit")
    assert second.nothing.endswith("No Agent depends on the changed file agents/run.py.")


@pytest.mark.parametrize("declarative", [True, False])
def test_a_prompt_that_is_copied_and_left_behind_is_one(shop: Repo, declarative: bool) -> None:
    if declarative:
        shop.checkout("main")
        shop.write("agents/support.yaml", AGENT)
        shop.commit()
        shop.branch("other")
    manifest = (AGENT if declarative else PROGRAM).replace("file: prompts/", "file: /copies/")
    shop.write("agents/support.yaml", manifest)
    shop.write("copies/support.md", PROMPT)
    shop.commit()
    plan = plan_of(shop)
    if declarative:
        assert f"agents/prompts/support.md {STILL}" in reasons(plan)
        assert lost(plan) == [
            "Agent support no longer depends on 1 file: agents/prompts/support.md"
        ]
    else:
        assert lost(plan) == [], "the folder is still its own, and the old prompt in it"
        assert plan.nothing


def test_another_prompt_in_another_file_is_an_edit_like_any_other(shop: Repo) -> None:
    shop.checkout("main")
    shop.write("agents/support.yaml", AGENT)
    shop.commit()
    shop.branch("second-version")
    shop.write("agents/support.yaml", AGENT.replace("support.md", "second.md"))
    shop.write("agents/prompts/second.md", f"{PROMPT}Be brief.\n")
    shop.commit()
    plan = plan_of(shop)
    assert plan.evals
    assert lost(plan) == []


NARROWER = {
    "cwd": PROGRAM.replace("command: [python3, run.py]", "cwd: sub, command: [python3, main.py]"),
    "watch": PROGRAM.replace("  tools:", "  watch: [sub, run.py]\n  tools:"),
}


@pytest.mark.parametrize("case", NARROWER)
def test_less_by_another_key_is_told_and_a_lowered_bar(shop: Repo, case: str) -> None:
    shop.write("agents/sub/main.py", LONG)
    shop.write("agents/more.py", "x = 1\n")
    shop.commit()
    shop.branch("less")
    shop.write("agents/support.yaml", NARROWER[case])
    shop.commit()
    plan = plan_of(shop, base="edit")
    assert f"agents/more.py {STILL}" in reasons(plan)
    assert "agents/more.py" in lost(plan)[0]


@pytest.mark.parametrize("key", ["include", "command"])
def test_a_file_no_longer_named_is_told_and_a_lowered_bar(shop: Repo, key: str) -> None:
    shop.write("lib/money.py", LONG)
    wide = {
        "include": PROGRAM.replace("  tools:", "  include: [/lib/**]\n  tools:"),
        "command": PROGRAM.replace("run.py]", "run.py, ../lib/money.py]"),
    }[key]
    shop.write("agents/support.yaml", wide)
    shop.commit()
    shop.branch("less")
    shop.write("agents/support.yaml", PROGRAM)
    shop.commit()
    plan = plan_of(shop, base="edit")
    assert f"lib/money.py {STILL}" in reasons(plan)
    assert lost(plan) == ["Agent support no longer depends on 1 file: lib/money.py"]


@pytest.mark.parametrize(("text", "told"), [(LONG, True), ("x = 1\n", False)])
def test_content_that_leaves_for_another_path_is_told(shop: Repo, text: str, told: bool) -> None:
    """The copy stays in the folder that moves; the original goes where nobody looks."""
    shop.write("agents/run.py", text)
    shop.commit()
    shop.branch("moved")
    copy(shop, "agents", "copies/a")
    shop.rename("agents/run.py", "lib/run.py")
    shop.delete("agents")
    shop.commit()
    plan = plan_of(shop, base="edit")
    expected = ["agents/run.py left for lib/run.py, which is no file of this Agent"]
    assert reasons(plan) == (expected if told else [])
    assert lost(plan) == []


def test_a_folder_that_moves_as_a_whole_is_no_change(shop: Repo) -> None:
    shop.rename("agents", "services/support")
    shop.commit()
    plan = plan_of(shop)
    assert plan.nothing
    assert reasons(plan) == []


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_takes_the_place_of_a_file_left_behind_is_told(shop: Repo, kind: str) -> None:
    shop.rename("agents", "copies/a")
    if kind == "link":
        shop.link("agents/run.py", "../copies/a/run.py")
    else:
        shop.write("agents/run.py/__init__.py", LONG)
    shop.commit()
    assert f"agents/run.py {STILL}" in reasons(plan_of(shop))
