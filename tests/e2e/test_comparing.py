"""`gateval compare` of two revisions: which runs it takes, and what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateval.domain.history.recorded import run_record as recorded
from gateval.domain.history.run_record import RunBase, RunFacts, RunRecord, record_line
from tests.helpers.command import gateval
from tests.helpers.github_shop import WORSE
from tests.helpers.repo import Repo
from tests.helpers.reports import make
from tests.helpers.runs import run_eval, run_fixture, run_record
from tests.helpers.shop import EVAL, FIXTURES, build_shop


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return build_shop(tmp_path / "shop")


def keep(shop: Repo, *records: RunRecord) -> None:
    """Put records where the clone's copy of the runs is."""
    copy = shop.path / ".git/gateval/runs.jsonl"
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(b"".join(map(record_line, records)))


def compared(shop: Repo, *words: str) -> dict[str, Any]:
    done = gateval(shop, "compare", *words, "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    return dict(found)


def test_what_a_check_measured_as_base_is_known(shop: Repo) -> None:
    shop.write("agents/prompts/support.md", WORSE)
    head = shop.commit()
    assert gateval(shop, "check").returncode == 1
    found = compared(shop, "main", head)
    (worse,) = [one for one in found["fixtures"] if one["worse"]]
    assert (worse["fixture"], worse["before"], worse["after"]) == ("refund-asks-why", "1/1", "0/1")
    assert found["before"] == 1.0
    assert found["of"][0]["asBase"] is True
    assert found["of"][0]["run"] == found["of"][1]["run"]
    text = gateval(shop, "compare", "main", "HEAD").stdout
    assert f"main: base of the run {found['of'][0]['run']}" in text


@pytest.mark.parametrize("model", ["fixtures", "weighted"])
def test_a_base_without_what_stood_gives_way_to_one_that_has_it(shop: Repo, model: str) -> None:
    """The second run measures neither side of what the first found, and the rest of base anew."""
    shop.checkout("main")
    shop.write("evals/support-eval.yaml", EVAL + f"  scoring: {{model: {model}}}\n")
    parts = "weight: 3}\n    - {type: contains, value: Done, weight: 2}"
    shop.write("evals/fixtures.yaml", FIXTURES.replace("reason}", f"reason, {parts}"))
    shop.commit()
    shop.branch("worse")
    shop.write("agents/prompts/support.md", WORSE)
    head = shop.commit()
    first = shop.path / "first"
    assert gateval(shop, "check", "--base", "main", "--results", str(first)).returncode == 1
    for _ in range(2):
        assert gateval(shop, "check", "--base", "main").returncode == 1
    alone = compared(shop, "main", head)
    (asks,) = [one for one in alone["fixtures"] if one["fixture"] == "refund-asks-why"]
    assert asks["said"] == "stands from an earlier run in the first and the second"
    text = gateval(shop, "compare", "main", "HEAD").stdout
    assert f"main 1.00 \u2192 HEAD {'0.60' if model == 'weighted' else '0.33'}" in text
    if model == "weighted":
        assert "1.00 0.40 -0.60 stands from" in " ".join(text.split())
    assert alone["before"] == 1.0, "as the run itself has it"
    assert (alone["of"][0]["listed"], alone["of"][0]["total"]) == (2, 2)
    gateval(shop, "check", "--base", "main", "--fresh")
    assert gateval(shop, "check", "--base", "main").returncode == 1
    found = compared(shop, "main", head)
    assert found["before"] == 1.0
    (asks,) = [one for one in found["fixtures"] if one["fixture"] == "refund-asks-why"]
    assert asks["before"] == "1/1"
    assert len(found["of"][0]["newer"]) == 1


def test_a_base_of_which_the_most_was_stored_gives_way_to_a_whole_run(shop: Repo) -> None:
    """A later run measured one fixture of base, as it had the others from an earlier one."""
    here, later = shop.id("HEAD"), shop.commit()
    one = run_fixture("one", "ppp")
    part = {"closure": "a" * 64, "setting": "b" * 64, "low": 1.0, "high": 1.0, "total": 1}
    new = run_fixture("new", "ppp").model_copy(update={"base": "ppp"})
    whole = run_eval(run_fixture("one", "fff"), new, low=0.5, high=0.5)
    after = run_eval(one, new).model_copy(update={"base": RunBase.model_validate(part)})
    keep(shop, run_record(1, whole, commit=here), run_record(2, after, commit=later, base=here))
    found = compared(shop, here, later)
    assert found["of"][0]["run"] == "1-1"
    assert found["before"] == 0.5
    (worse,) = [each for each in found["fixtures"] if each["differs"]]
    assert (worse["fixture"], worse["before"], worse["after"]) == ("one", "0/3", "3/3")


def test_one_run_a_side_and_never_an_outage(shop: Repo) -> None:
    """The newest run lost everything to its provider; those before it are not added up."""
    here = shop.id("HEAD")
    lost = run_eval(run_fixture("one", "xxx"), low=None, high=None, limits=None, passing=0)
    keep(
        shop,
        run_record(1, commit=here),
        run_record(2, run_eval(run_fixture("one", "ppf")), commit=here),
        run_record(3, lost, commit=here),
        run_record(4, run_eval(run_fixture("one", "fff"))),
    )
    found = compared(shop, "HEAD", "4-1")
    (one,) = found["fixtures"]
    assert (one["before"], one["after"]) == ("2/3", "0/3")
    assert found["before"] == pytest.approx(2 / 3)
    assert [side["run"] for side in found["of"]] == ["2-1", "4-1"]
    text = gateval(shop, "compare", "HEAD", "4-1").stdout
    assert "HEAD: the run 2-1 (2026-11-20 00:02), the newest that is complete" in text
    assert "left out: 3-1" in text


def test_a_run_that_is_not_complete_is_taken_where_there_is_no_other(shop: Repo) -> None:
    here = shop.id("HEAD")
    some = run_eval(run_fixture("one", "ppp"), run_fixture("two", "xxx"), low=0.5, high=1.0)
    keep(shop, run_record(1, some, commit=here), run_record(2))
    text = gateval(shop, "compare", "HEAD", "2-1").stdout
    assert "HEAD: the run 1-1 (2026-11-20 00:01), not complete" in text
    assert "0.50 to 1.00" in text or "0.50–1.00" in text


def test_regressions_beyond_two_thousand_fixtures_are_kept(shop: Repo) -> None:
    """109 of 4,000 fixtures regress, 54 of them beyond those that a record lists."""
    worse = {*range(0, 2000, 37), *range(2001, 4000, 37)}
    worse = set(sorted(worse)[:109])
    rows = "\n".join(
        f"big-eval f{number:04} base:pass,pass,pass,pass "
        + ("head:fail,fail,fail,fail" if number in worse else "head:pass,pass,pass,pass")
        for number in range(4000)
    )
    report = make(rows)
    record = recorded(report, RunFacts(id="7-1", at="2026-11-20T00:00:00Z"))
    assert record is not None
    base, head = shop.id("main"), shop.commit()
    keep(shop, record.model_copy(update={"commit": head, "base": base}))
    found = compared(shop, base, head)
    named = {one["fixture"] for one in found["fixtures"] if one["worse"]}
    assert named == {f"f{number:04}" for number in worse}
    assert len([one for one in worse if one >= 2000]) == 54
    text = gateval(shop, "compare", base, head).stdout
    assert "2,000 of 4,000" in text
    assert "f3998" not in named or "f3998" in text


def test_what_an_earlier_run_left_out_as_passed_is_told_as_that(shop: Repo) -> None:
    """Two runs that each list a part: one has what failed beyond it, the other listed nothing."""
    listed = [run_fixture(f"f{number}") for number in range(3)]
    beyond = run_fixture("late", "fff")
    before = run_eval(*listed, total=5, passing=5)
    after = run_eval(*listed, total=5, passing=4, low=0.8, high=0.8, beyond=(beyond,))
    keep(shop, run_record(1, before), run_record(2, after))
    (late,) = [one for one in compared(shop, "1-1", "2-1")["fixtures"] if one["worse"]]
    assert (late["fixture"], late["before"], late["after"]) == ("late", "3/3", "0/3")
    unknown = run_eval(*listed, total=5, passing=3)
    keep(shop, run_record(1, unknown), run_record(2, after))
    (late,) = [one for one in compared(shop, "1-1", "2-1")["fixtures"] if one["differs"]]
    assert (late.get("before"), late["said"]) == (None, "not listed in the first")


def test_what_neither_side_measured_is_not_called_equal(shop: Repo) -> None:
    lost = run_eval(run_fixture("one", "xxx"), run_fixture("two"), low=None, high=None, limits=None)
    keep(shop, run_record(1, lost), run_record(2, lost))
    text = gateval(shop, "compare", "1-1", "2-1").stdout
    assert "not measured in the first and the second" in text
    assert "1 more with equal results" in text
