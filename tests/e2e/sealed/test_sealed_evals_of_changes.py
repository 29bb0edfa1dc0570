"""What a change adds to sealed Evals, or edits in them, does not run before it is merged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.sealed import AGENT, CONFIG, HELD, KEY, PROGRAM, leaks, seal, sealed_shop

EASY = HELD.partition("    - {type: judge")[0] + "---" + HELD.partition("---")[2]
"""The sealed Eval without its judge."""

WORDS = ("aardvark", "bongo", "capybara", "thanks", "dingo", "echidna")
"""A dictionary with one word that the sealed fixture asks for."""

SPELLER = f"""\
import json, random, sys, time
json.load(sys.stdin)
number = random.randrange({len(WORDS)})
time.sleep(number / 50)
print(json.dumps({{"output": {WORDS!r}[number]}}))
"""
"""An agent whose time tells which word it tried."""

MINE = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: mine}
spec: {targetAgent: desk, fixtures: [greets], execution: {repsPerFixture: 60, parallel: 8}}
"""

NEXT = EASY.replace("greets", "waves").replace("held", "second")


def check(shop: Repo, *words: str, code: int | None = None, to: str = "out") -> tuple[str, Path]:
    """Check the branch against main with the key: what was said, and the results."""
    out = shop.path.parent / to
    done = gateval(shop, "check", "--base", "main", "--results", str(out), *words, **KEY)
    said = done.stdout + done.stderr
    assert code is None or done.returncode == code, said
    assert leaks([out], [said]) == []
    return " ".join(said.split()), out


def opened(shop: Repo, out: Path) -> dict[str, Any]:
    """The results as who holds the key sees them."""
    done = gateval(shop, "unseal", str(out), "--format", "results", **KEY)
    results: dict[str, Any] = json.loads(done.stdout)
    return results


def spelled(results: dict[str, Any]) -> set[str]:
    """The words of the dictionary that outcomes give away; the agent knows which it tried when."""
    heads = [one for one in results["trials"] if one["key"]["side"] == "head"]
    return {one["output"] for one in heads if one["assessments"][0]["status"] == "passed"}


def speller(path: Path) -> Repo:
    """A shop on whose branch the agent tries words."""
    shop = sealed_shop(path, EASY)
    shop.write("desk/desk.py", SPELLER)
    shop.commit("Tries words")
    return shop


def test_a_changes_own_eval_over_sealed_fixtures_spells_no_word(tmp_path: Path) -> None:
    shop = speller(tmp_path / "shop")
    shop.write("evals/mine.yaml", MINE)
    shop.commit()
    said, out = check(shop)
    results = opened(shop, out)
    assert {one["key"]["eval"] for one in results["trials"]} == {"held-out"}
    assert "first runs after the merge: the Eval mine, with 1 fixture" in said
    assert "first runs after the merge" in (out / "comment.md").read_text("utf-8")


def test_an_eval_that_the_target_branch_has_runs_as_often_as_that_says(tmp_path: Path) -> None:
    """The control: the same Eval, once it was merged; who holds the key may spell the word."""
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.checkout("main")
    shop.write("evals/mine.yaml", MINE)
    shop.commit()
    shop.branch("tries")
    shop.write("desk/desk.py", SPELLER)
    shop.commit()
    said, out = check(shop)
    results = opened(shop, out)
    trials = [one["key"] for one in results["trials"]]
    assert sum((one["eval"], one["side"]) == ("mine", "head") for one in trials) >= 60
    assert spelled(results) == {"thanks"}
    assert "after the merge" not in said


def test_a_new_sealed_eval_alone_is_validated_and_nothing_more(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.checkout("main")
    shop.branch("adds")
    seal(shop, "evals/second.yaml", NEXT)
    shop.commit()
    told = (
        "Sealed, so it was validated here and first runs after the merge: the Eval second-out, "
        "with 1 fixture"
    )
    said, out = check(shop, code=0)
    assert told in said
    for view in ("comment.md", "summary.txt"):
        assert told in " ".join((out / view).read_text("utf-8").split())
    assert json.loads((out / "results.v1.json").read_text("utf-8"))["trials"] == []
    assert told in " ".join(gateval(shop, "plan", "--base", "main", **KEY).stdout.split())
    shop.checkout("main")
    shop.git("merge", "-q", "adds")
    shop.branch("rude")
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Whatever."))
    shop.commit()
    said, out = check(shop, code=1, to="after")
    evals = {one["key"]["eval"] for one in opened(shop, out)["trials"]}
    assert evals == {"held-out", "second-out"}, "after the merge it runs"


def test_a_new_sealed_eval_with_something_wrong_is_refused(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    seal(shop, "evals/second.yaml", NEXT.replace("targetAgent: desk", "targetAgent: dusk"))
    shop.commit()
    said, _ = check(shop, code=2)
    assert "evals/second.yaml.age" in said


@pytest.mark.parametrize("rule", ["strictest", "base", "head"])
def test_edits_of_a_sealed_eval_wait_whatever_the_bar_is(tmp_path: Path, rule: str) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.checkout("main")
    shop.write(".github/gateval.yml", CONFIG.replace("policy: {", f"policy: {{bar: {rule}, "))
    shop.commit()
    shop.branch("edits")
    (shop.path / "evals/held.yaml.age").unlink()
    often = EASY.replace(
        "targetAgent: desk", "targetAgent: desk\n  execution: {repsPerFixture: 60}"
    )
    seal(
        shop,
        "evals/held.yaml",
        often + "---\n" + NEXT.partition("---")[0].replace("second", "held"),
    )
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Many thanks, again."))
    shop.commit()
    said, out = check(shop, code=0)
    results = opened(shop, out)
    heads = [one["key"] for one in results["trials"] if one["key"]["side"] == "head"]
    assert {(one["eval"], one["fixture"]) for one in heads} == {("held-out.base-tip", "greets")}
    assert len(heads) < 10
    assert "waves" in said
    assert "of held-out, which runs here as the target branch has it" in said


@pytest.mark.parametrize("rule", ["strictest", "base", "head"])
def test_who_takes_the_mark_off_learns_no_more_by_it(tmp_path: Path, rule: str) -> None:
    """Of manifests in plain text: the outcomes are what is sealed."""
    shop = Repo(tmp_path / "shop")
    marked = EASY.replace("targetAgent: desk", "targetAgent: desk\n  sealed: true")
    shop.write("desk/agent.yaml", AGENT)
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Many thanks."))
    shop.write(".github/gateval.yml", CONFIG.replace("policy: {", f"policy: {{bar: {rule}, "))
    shop.write("evals/held.yaml", marked)
    shop.commit()
    shop.branch("opens")
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Whatever."))
    shop.write("evals/held.yaml", marked.replace("sealed: true", "sealed: false"))
    shop.commit()
    out = tmp_path / "out"
    done = gateval(shop, "check", "--base", "main", "--results", str(out), **KEY)
    assert done.returncode == 1, done.stdout + done.stderr
    public = json.loads((out / "results.v1.json").read_text("utf-8"))
    assert public["trials"] == []
    assert [one["verdict"] for one in public["sealed"]] == ["fail"]
    assert "Whatever" not in done.stdout
    assert "of held-out, which runs here as the target branch has it" in " ".join(
        done.stdout.split()
    )


def test_a_check_of_a_part_chooses_no_fixture_of_a_new_sealed_eval(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.write("evals/mine.yaml", MINE)
    shop.commit()
    said, _ = check(shop, "--eval", "mine", code=2)
    assert "What is new in mine is sealed and first runs after the merge" in said


def test_who_holds_the_key_tries_a_sealed_eval_with_the_plain_file_beside(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.checkout("main")
    shop.branch("adds")
    seal(shop, "evals/second.yaml", NEXT)
    shop.commit()
    path = "evals/second.yaml"
    assert gateval(shop, "unseal", f"{path}.age", "--output", path, **KEY).returncode == 0
    (shop.path / f"{path}.age").unlink()
    done = gateval(shop, "check", "--base", "main", **KEY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 Eval" in done.stdout
    assert "after the merge" not in done.stdout
    assert gateval(shop, "seal", path, **KEY).returncode == 0
    (shop.path / path).unlink()
    done = gateval(shop, "run", "second-out", **KEY)
    assert done.returncode == 0, done.stdout + done.stderr


def test_files_beside_a_sealed_fixture_are_those_of_the_target_branch(tmp_path: Path) -> None:
    """A file that the gate lays out or runs for a sealed fixture would be a part of the test."""
    ground = "spec:\n  playground: {files: [data/start.txt]}\n"
    shop = sealed_shop(tmp_path / "shop", EASY.replace("spec:\n", ground, 1))
    shop.checkout("main")
    shop.write("evals/data/start.txt", "one")
    shop.commit()
    shop.branch("edits")
    shop.write("evals/data/start.txt", "two")
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Many thanks, again."))
    shop.commit()
    said, out = check(shop)
    assert {one["key"]["eval"] for one in opened(shop, out)["trials"]} == {"held-out.base-tip"}
    assert "greets of held-out, which runs here as the target branch has it" in said
