"""Lines of changed files in a plan, on a real repository: what is shown, cut, named and kept back."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateval.domain.plan.plan import FileEdit, Plan
from gateval.domain.planning.file_edits import (
    LARGEST_FILE,
    OF_AGENT,
    OF_FILE,
    OF_RUN,
    Edited,
    file_edits,
)
from gateval.safe.redaction import Redactor
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL, FIXTURES, build_shop, plan_of

PROGRAM = AGENT.replace(
    "  tools:", "  runtime: {type: command, command: [python3, run.py]}\n  tools:"
)
BEFORE: dict[str, str | bytes] = {
    "agents/run.py": "def answer():\n    one\n    two\n    three\n",
    "agents/crlf.txt": "one\r\ntwo\r\n",
    "agents/logo.png": b"\x89PNG\x00one",
    "agents/latin.txt": "Größe\n".encode("latin-1"),
    "agents/data.json": f"[{'1,' * LARGEST_FILE}1]",
    "agents/tool.sh": "true\n",
    "agents/old name.py": "".join(f"line {n}\n" for n in range(20)),
    "agents/gone.py": "gone\n",
    "agents/.gitattributes": "*.py -diff\n",
    "agents/kept.py": "kept\n",
    "agents/[odd]\nname \udcff": "odd\n",
    "other/app.py": "other\n",
}
AFTER: dict[str, str | bytes] = {
    "agents/run.py": "def answer():\n    one\n    TWO \u202e\n--- diff --git\n    three",
    "agents/crlf.txt": "one\r\nTWO\r\n",
    "agents/logo.png": b"\x89PNG\x00two",
    "agents/latin.txt": "Grösse ß\n".encode("latin-1"),
    "agents/data.json": f"[{'1,' * LARGEST_FILE}2]",
    "agents/new.py": "diff --git a/x b/x\n@@ -1 +1 @@\n",
    "agents/[odd]\nname \udcff": "even\n",
    "other/app.py": "another\n",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    shop = build_shop(tmp_path_factory.mktemp("edits") / "shop")
    shop.checkout("main")
    shop.write("agents/support.yaml", PROGRAM)
    for path, text in BEFORE.items():
        shop.write(path, text)
    shop.commit("Program")
    shop.branch("edited", "main")
    for path, text in AFTER.items():
        shop.write(path, text)
    shop.write("agents/tool.sh", "true\n", executable=True)
    shop.rename("agents/old name.py", "agents/new name.py")
    shop.write("agents/new name.py", f"{BEFORE['agents/old name.py']}line 20\n")  # type: ignore[str-bytes-safe]
    shop.delete("agents/gone.py")
    shop.commit("Edit")
    return shop


@pytest.fixture(scope="module")
def plan(shop: Repo) -> Plan:
    return plan_of(shop)


def edits(plan: Plan) -> dict[str, FileEdit]:
    return {one.where: one for one in plan.edits}


SHOWN = {
    "agents/run.py": FileEdit(
        where="agents/run.py",
        diff="@@ -1,4 +1,5 @@\n def answer():\n     one\n-    two\n-    three\n+    TWO \u202e\n"
        "+--- diff --git\n+    three\n\\ No newline at end of file",
    ),
    "agents/crlf.txt": FileEdit(where="agents/crlf.txt", diff="@@ -1,2 +1,2 @@\n one\n-two\n+TWO"),
    "agents/new.py": FileEdit(
        where="agents/new.py", diff="@@ -0,0 +1,2 @@\n+diff --git a/x b/x\n+@@ -1 +1 @@"
    ),
    "agents/gone.py": FileEdit(where="agents/gone.py", diff="@@ -1 +0,0 @@\n-gone"),
    "agents/new name.py": FileEdit(
        where="agents/new name.py",
        diff="@@ -18,3 +18,4 @@ line 16\n line 17\n line 18\n line 19\n+line 20",
    ),
    "agents/logo.png": FileEdit(where="agents/logo.png", unread="no text in UTF-8"),
    "agents/latin.txt": FileEdit(where="agents/latin.txt", unread="no text in UTF-8"),
    "agents/data.json": FileEdit(where="agents/data.json", unread="larger than 262,144 bytes"),
    "agents/tool.sh": FileEdit(
        where="agents/tool.sh", unread="no other lines, but another place or mode"
    ),
}


@pytest.mark.parametrize("path", SHOWN)
def test_each_changed_file_has_its_lines_or_says_why_not(plan: Plan, path: str) -> None:
    expected = SHOWN[path]
    assert edits(plan)[expected.where] == expected


def test_files_of_no_agent_and_those_that_only_moved_away_are_not_told(plan: Plan) -> None:
    told = {reason.where for change in plan.changes for reason in change.reasons}
    assert edits(plan).keys() <= told
    assert not [one for one in edits(plan) if "other" in one or "old name" in one or "kept" in one]
    odd = [one for where, one in edits(plan).items() if "odd" in where]
    assert [one.diff for one in odd] == ["@@ -1 +1 @@\n-odd\n+even"]


def test_an_agent_that_moves_is_compared_with_where_it_was(shop: Repo) -> None:
    shop.branch("moved", "main")
    for path in (*(one for one in BEFORE if one.startswith("agents/")), "agents/support.yaml"):
        shop.rename(path, path.replace("agents/", "bots/"))
    shop.rename("agents/prompts/support.md", "bots/prompts/support.md")
    shop.write("bots/run.py", str(BEFORE["agents/run.py"]).replace("two", "2"))
    shop.commit("Move")
    found = edits(plan_of(shop))
    assert [one.diff.split("\n")[3:5] for one in found.values()] == [["-    two", "+    2"]]
    assert list(found) == ["bots/run.py"]


def test_nothing_of_a_sealed_eval_is_shown_even_if_the_agent_gets_it(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    include = "  include: [/evals/fixtures.yaml]\n  tools:"
    shop.write("agents/support.yaml", PROGRAM.replace("  tools:", include))
    shop.write("evals/support-eval.yaml", EVAL.replace("spec:\n", "spec:\n  sealed: true\n"))
    attached = "messages: [{role: user, content: [{type: file, path: ../agents/bill.txt}]}]"
    asked = FIXTURES.replace("payload: {prompt: Hello}", attached)
    shop.write("evals/fixtures.yaml", asked)
    for path in ("agents/run.py", "agents/bill.txt"):
        shop.write(path, "one\n")
    shop.commit("Sealed")
    shop.branch("sealed", "main")
    for path in ("agents/run.py", "agents/bill.txt"):
        shop.write(path, "ophicleide\n")
    shop.write("evals/fixtures.yaml", asked.replace("I want a refund", "I want an ophicleide"))
    shop.commit("Edit")
    plan = plan_of(shop)
    told = [str(reason) for change in plan.changes for reason in change.reasons]
    assert told == [
        "evals/fixtures.yaml changed",
        "agents/bill.txt changed",
        "agents/run.py changed",
    ]
    assert sorted(edits(plan)) == ["agents/run.py"]


def test_a_secret_in_a_line_is_taken_out_with_those_of_the_plan(plan: Plan) -> None:
    clean = Redactor(["def answer():\n    one"]).value(plan)
    assert "def answer" not in edits(clean)["agents/run.py"].diff


def hunks(*sizes: int) -> tuple[list[Edited], dict[str, bytes]]:
    files = [Edited(f"f{at}", f"f{at}", f"f{at}") for at in range(len(sizes))]
    return files, {
        one.where: b"+line of ten\n" * size for one, size in zip(files, sizes, strict=True)
    }


LINE = len("+line of ten\n")


@pytest.mark.parametrize(
    ("sizes", "kept"),
    [
        ([3], [3]),
        ([100_000], [OF_FILE // LINE]),
        ([100_000, 2, 3], [OF_FILE // LINE, 2, 3]),
        ([1_200] * 6, [1_200] * 4 + [(OF_AGENT - 4 * 1_200 * LINE) // LINE, 0]),
    ],
)
def test_small_edits_are_whole_and_large_ones_cut_at_a_line(
    sizes: list[int], kept: list[int]
) -> None:
    files, lines = hunks(*sizes)
    found = file_edits({"a": files}, (), lines)
    by_name = {one.where: one for one in found}
    told = [by_name[one.where] for one in files]
    assert [one.diff.count("+line") for one in told] == kept
    assert [one.left for one in told] == [a - b for a, b in zip(sizes, kept, strict=True)]


def test_a_file_of_many_agents_is_there_once_and_all_agents_share_the_room_of_a_run() -> None:
    files, lines = hunks(*[1_200] * 40)
    of = {f"agent{at}": files[at : at + 4] for at in range(40)}
    found = file_edits(of, (), lines)
    assert len(found) == len({one.where for one in found}) == 40
    whole = sum(len(one.diff.encode()) for one in found)
    assert OF_RUN - 2 * LINE * 40 < whole <= OF_RUN
    assert sum(one.left for one in found) == 40 * 1_200 - sum(
        one.diff.count("+line") for one in found
    )
