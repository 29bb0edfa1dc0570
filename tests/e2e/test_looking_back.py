"""`get`, `history`, `compare` and `flaky` in a clone, with much history, with none, with forged."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from gateval.domain.history.run_record import RunRecord, record_line
from tests.helpers.command import gateval
from tests.helpers.github_shop import WORSE
from tests.helpers.repo import Repo
from tests.helpers.runs import run_eval, run_fixture, run_record
from tests.helpers.shop import SCRIPT, build_shop


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return build_shop(tmp_path / "shop")


def keep(shop: Repo, *lines: bytes) -> None:
    """Put lines where the clone's copy of the runs is."""
    copy = shop.path / ".git/gateval/runs.jsonl"
    copy.parent.mkdir(exist_ok=True)
    copy.write_bytes(b"".join(lines))


def records(*, evals: int, fixtures: int) -> RunRecord:
    names = [run_fixture(f"fixture-{number:03}") for number in range(fixtures)]
    return run_record(1, *(run_eval(*names, name=f"eval-{n}") for n in range(evals)))


def test_a_thousand_runs_are_looked_at(shop: Repo) -> None:
    """How long it takes is measured in `benchmarks/looking_back.py`."""
    whole = run_eval(*(run_fixture(f"fixture-{n:03}") for n in range(200)))
    keep(shop, *(record_line(run_record(n, whole)) for n in range(1_000)))
    done = gateval(shop, "get", "evals", "-o", "json")
    assert json.loads(done.stdout)[0]["phase"] == "Stale", done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("history",), "No run is known here. `gateval run EVAL` makes the first."),
        (("flaky",), "No fixture wavers in 0 runs that can be looked at."),
    ],
)
def test_without_any_run(shop: Repo, words: tuple[str, ...], said: str) -> None:
    done = gateval(shop, *words)
    assert (done.returncode, done.stdout.strip()) == (0, said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("history", "nope"), 'No run of an Eval "nope" is known'),
        (("history", "--plot", "x.svg"), "A plot is of one Eval."),
        (("history", "support-eval", "--plot", "no/x.svg"), "cannot be written"),
        (("compare", "nope", "HEAD"), "nope is no revision, run or folder of results"),
        (("compare", "HEAD", "main"), "was never measured, as far as is known here."),
        (("get", "eval", "support-evil"), 'There is no Eval "support-evil" here.'),
        (("get", "pods"), "'pods' is not one of"),
        (("get", "evals", "--fetch"), "This repository has no remote origin"),
    ],
)
def test_wrong_input(shop: Repo, words: tuple[str, ...], said: str) -> None:
    if words[:2] == ("history", "support-eval"):
        keep(shop, record_line(run_record(1)))
    done = gateval(shop, *words)
    assert done.returncode in {2, 3}
    assert said in done.stderr
    assert not done.stdout


def test_forged_lines_are_passed_over_and_what_they_say_is_no_command(shop: Repo) -> None:
    evil = "\x1b[2J::error::gone\n<script>"
    forged = run_record(5, run_eval(run_fixture("one", "fff", says=evil)), url=evil)
    keep(shop, b'{"id":"x"}\n', b"\xff\xfe\n", b"[" * 10_000 + b"\n", record_line(forged))
    done = gateval(shop, "get", "eval", "support-eval")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout
    assert "\n::error" not in done.stdout
    plot = gateval(shop, "history", "support-eval", "--plot", "out.svg")
    assert plot.returncode == 0, plot.stderr
    text = (shop.path / "out.svg").read_text()
    assert "<script" not in text
    assert ET.fromstring(text).tag.endswith("svg")  # noqa: S314 - our own


@pytest.mark.parametrize("limits", ["[1e999, 1e999]", "[NaN, NaN]", "[-1e308, 1e308]"])
def test_limits_that_are_none_are_passed_over(shop: Repo, limits: str) -> None:
    line = record_line(run_record(5, run_eval(limits=(0.5, 0.7)))).decode()
    forged = line.replace("[0.5,0.7]", limits)
    assert forged != line
    keep(shop, record_line(run_record(4)), forged.encode())
    shown = gateval(shop, "history", "support-eval", "--json").stdout
    assert [one["run"] for one in json.loads(shown)["support-eval"]] == ["4-1"]


def test_the_history_of_one_eval(shop: Repo) -> None:
    worse = run_eval(run_fixture("greets", "pff", regressed=True), verdict="fail")
    keep(
        shop,
        *(record_line(run_record(n)) for n in range(1, 4)),
        record_line(run_record(4, worse, base=f"{3:040x}")),
    )
    text = gateval(shop, "history", "support-eval").stdout
    assert text.splitlines()[0] == "support-eval ███!"
    assert "regressed since 0000000: greets" in text
    points = json.loads(gateval(shop, "history", "support-eval", "--json").stdout)
    assert [one["regressed"] for one in points["support-eval"]] == [[], [], [], ["greets"]]
    drawn = gateval(shop, "history", "support-eval", "--plot", "terminal").stdout
    assert "███!" in drawn


def test_what_was_not_measured_is_a_gap_and_no_number(shop: Repo) -> None:
    lost = run_eval(run_fixture("one", "xxx"), low=None, high=None, limits=None, passing=0)
    whole = [record_line(run_record(n)) for n in (1, 2, 4, 5)]
    keep(shop, *whole[:2], record_line(run_record(3, lost)), *whole[2:])
    assert gateval(shop, "history", "support-eval", "--plot", "out.svg").returncode == 0
    drawn = (shop.path / "out.svg").read_text()
    assert drawn.count("<polyline") == 2
    text = gateval(shop, "history", "support-eval").stdout
    (row,) = [line for line in text.splitlines() if "00:03:00" in line]
    assert "not measured  \N{EN DASH}" in row
    assert "\N{EN DASH}/1" in row
    keep(shop, record_line(run_record(3, lost)))
    assert "\N{EN DASH}/1" in gateval(shop, "get", "evals").stdout


def test_two_runs_side_by_side(shop: Repo) -> None:
    keep(
        shop,
        record_line(run_record(1, commit=shop.id("HEAD"))),
        record_line(run_record(2, run_eval(run_fixture("one", "fff")))),
    )
    text = gateval(shop, "compare", "HEAD", "2-1").stdout
    assert "support-eval: HEAD 1.00 → 2-1 0.00, -100 points" in text
    assert "one      3/3   0/3  0.050" in text
    (found,) = json.loads(gateval(shop, "compare", "HEAD", "2-1", "--json").stdout)
    assert found["delta"] == -1.0


def test_what_this_clone_ran_counts_beside_ci(shop: Repo) -> None:
    keep(shop, record_line(run_record(1)))
    assert gateval(shop, "run", "support-eval").returncode == 0
    (folder,) = (shop.path / ".gateval/results").glob("2*")
    text = gateval(shop, "compare", "1-1", str(folder)).stdout
    assert "only in the first" in text
    yaml = gateval(shop, "get", "eval", "support-eval", "-o", "yaml").stdout
    assert "phase: Passed\n" in yaml
    assert "event: local\n" in yaml


def test_rules_of_a_scripted_model_belong_to_the_agent(shop: Repo) -> None:
    assert gateval(shop, "run", "support-eval").returncode == 0
    shop.write(".gateval/scripted/support.yaml", SCRIPT.replace("Hello! How", "Hello Hello! How"))
    text = gateval(shop, "get", "eval", "support-eval", "-o", "yaml").stdout
    assert "phase: Stale\n" in text


@pytest.mark.parametrize(
    "part",
    [
        ["check", "--failed"],
        ["check", "--fixture", "refund-asks-why"],
        ["run", "support-eval", "--fixture", "refund-asks-why"],
    ],
)
def test_a_part_enters_nothing_that_looks_back(shop: Repo, part: list[str]) -> None:
    """What was picked because it failed would make every rate that it enters worse."""
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    assert gateval(shop, "check").returncode == 1
    looks = (
        ("get", "evals", "-o", "json"),
        ("get", "fixtures", "-o", "json"),
        ("history", "--json"),
        ("history", "support-eval", "--json"),
        ("compare", "HEAD", "HEAD", "--json"),
        ("compare", "--table", "--json"),
        ("flaky", "--json"),
    )
    before = [gateval(shop, *words).stdout for words in looks]
    assert gateval(shop, *part).returncode in {1, 3}
    assert [gateval(shop, *words).stdout for words in looks] == before
    newest = max((shop.path / ".gateval/results").iterdir())
    assert json.loads((newest / "run.v1.json").read_text())["part"]
    for word in (str(newest), newest.name):
        named = gateval(shop, "compare", word, "HEAD")
        assert named.returncode == 2
        assert "measured a part only" in named.stderr
    assert gateval(shop, "show", str(newest)).returncode == 0


def test_what_was_only_ever_measured_in_part_is_pending(shop: Repo) -> None:
    done = gateval(shop, "run", "support-eval", "--fixture", "greets")
    assert done.returncode == 0, done.stdout + done.stderr
    (status,) = json.loads(gateval(shop, "get", "evals", "-o", "json").stdout)
    assert status["phase"] == "Pending"
    assert "No run is known here." in gateval(shop, "history").stdout
