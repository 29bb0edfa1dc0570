"""What somebody at a terminal gets: one way to name a run, a next step, and lines that are whole."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from gateval.render.report.wording import GLOSSARY
from tests.helpers.command import environment, gateval
from tests.helpers.github_shop import SAME, WORSE
from tests.helpers.repo import Repo
from tests.helpers.shop import EVAL, build_shop


@pytest.fixture
def worse(tmp_path: Path) -> Repo:
    """A shop whose last check failed."""
    shop = build_shop(tmp_path / "shop")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    return shop


def at_terminal(shop: Repo, *words: str, columns: int = 60) -> str:
    """Return what a command prints at a terminal of so many columns."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (40, columns))
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "gateval", *words],
        cwd=shop.path,
        env={**environment(shop), "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:
                break
            if not more:
                break
            said += more
        process.wait()
    os.close(ours)
    return said.decode().replace("\r\n", "\n")


def test_a_person_is_told_once_where_the_words_are_explained(worse: Repo) -> None:
    told = f"Words: {GLOSSARY}\n"
    for words in (("check",), ("run", "support-eval"), ("show",), ("show", "greets")):
        assert at_terminal(worse, *words).count(told) == 1, words
    assert told not in gateval(worse, "show").stderr, "programs that read it need none"


@pytest.mark.parametrize("form", ["id", "folder", "file"])
def test_a_run_is_named_alike_in_all_commands(worse: Repo, form: str) -> None:
    assert gateval(worse, "check").returncode == 1
    (folder,) = (worse.path / ".gateval/results").glob("2*")
    named = {
        "id": folder.name,
        "folder": str(folder.relative_to(worse.path)),
        "file": str(folder / "results.v1.json"),
    }[form]
    for words, code in (
        (("show", named), 0),
        (("show", named, "greets"), 0),
        (("report", named), 1),
        (("compare", named, named), 0),
        (("promote", named, "--dry-run", "--fixture", "greets"), 0),
    ):
        done = gateval(worse, *words)
        assert done.returncode == code, (words, done.stderr)


@pytest.mark.parametrize(
    "words", [("show", "20990101-000000-0000", "greets"), ("report", "20990101-000000-0000"),
              ("challenge", "greets", "--score", "1", "--reason", "judgeWrong", "--note", "x", "--run", "20990101-000000-0000")],
    ids=["show", "report", "challenge"],
)  # fmt: skip
def test_a_run_that_is_not_there_is_told_alike(worse: Repo, words: tuple[str, ...]) -> None:
    done = gateval(worse, *words)
    assert done.returncode == 2
    assert "There is no run 20990101-000000-0000 here." in done.stderr
    assert "A run is named by its id, as the folders of .gateval/results are called" in done.stderr


def test_a_check_ends_with_the_next_step(worse: Repo, tmp_path: Path) -> None:
    failed = gateval(worse, "check")
    assert failed.stderr.endswith(
        "Next: see what refund-asks-why did, and mend it; then measure again what did not pass:\n"
        "  gateval show refund-asks-why\n"
        "  gateval check --failed\n"
    )
    elsewhere = gateval(worse, "check", "--results", str(tmp_path / "out"))
    ended = elsewhere.stderr.replace("\\\n    ", "")
    assert ended.endswith(f"  gateval show {tmp_path}/out refund-asks-why\n")
    assert gateval(worse, "show", "refund-asks-why").returncode == 0
    part = gateval(worse, "check", "--fixture", "greets")
    assert "Next: measure all that the change calls for:\n  gateval check --base" in part.stderr
    worse.write("agents/prompts/support.md", SAME)
    passed = gateval(worse, "check", "--fresh")
    assert (passed.returncode, passed.stderr.splitlines()[-1]) == (0, "Next: commit it and push.")


def test_lines_break_at_words(worse: Repo) -> None:
    """A terminal of 60 columns breaks no line itself, and a command stays one that can be run."""
    said = at_terminal(worse, "check")
    whole = ("Results:", "Words:")  # a path and an address, which stay one that can be opened
    assert not [one for one in said.splitlines() if len(one) > 60 and not one.startswith(whole)]
    assert "gateval check --base" in said
    assert " \\\n" in said
    for words in (("compare", "nope", "HEAD"), ("show", "nope"), ("flaky", "support-evil")):
        told = at_terminal(worse, *words)
        assert not [line for line in told.splitlines() if len(line) > 60], told
    looked = at_terminal(worse, "compare", "main", "HEAD")
    assert not [line for line in looked.splitlines() if len(line) > 60], looked


def test_a_check_names_the_report_that_a_browser_opens(worse: Repo) -> None:
    said = gateval(worse, "check").stderr
    (line,) = [line for line in said.splitlines() if line.startswith("Report: ")]
    assert (worse.path / line.removeprefix("Report: ")).name == "report.html"
    assert (worse.path / line.removeprefix("Report: ")).exists()
    without = gateval(worse, "check", "--views", "markdown").stderr
    assert "Report: " not in without


def test_a_plan_shows_what_changed_in_a_prompt_line_by_line(worse: Repo) -> None:
    told = gateval(worse, "plan").stdout
    assert "    - Always ask for the reason first.\n    + Always be quick first.\n" in told
    assert "\N{RIGHTWARDS ARROW}" not in told.partition("Eval ")[0]
    rules = "".join(f"Rule {number}.\n" for number in range(200))
    worse.write("agents/prompts/support.md", rules)
    long = gateval(worse, "plan").stdout
    assert "    + Rule 0.\n" in long
    assert "Rule 199" not in long
    assert " more lines; `git diff` has them" in long


def test_a_wrapped_line_of_a_diff_is_no_other_line(worse: Repo) -> None:
    assert gateval(worse, "check").returncode == 1
    worse.write("agents/prompts/support.md", "Be quick. " * 9 + "\n")
    for words in (("plan",), ("show", "refund-asks-why")):
        told = at_terminal(worse, *words)
        lines = told[told.index("- Always ask") :].splitlines()
        added = next(at for at, line in enumerate(lines) if line.lstrip().startswith("+ "))
        indent = len(lines[added]) - len(lines[added].lstrip())
        if words == ("plan",):
            assert lines[added + 1].startswith(" " * (indent + 2) + "quick."), told


def test_what_an_earlier_check_found_is_told_on_lines_of_the_screen(worse: Repo) -> None:
    assert gateval(worse, "check").returncode == 1
    said = at_terminal(worse, "check", columns=80)
    assert "stands (.git/gateval/findings.jsonl);" in " ".join(said.split())
    assert not [one for one in said.splitlines() if len(one) > 80 and one[:8] != "Results:"], said


def test_show_names_the_first_difference_beside_the_nearest_of_base(worse: Repo) -> None:
    assert gateval(worse, "check").returncode == 1
    shown = gateval(worse, "show", "refund-asks-why").stdout
    said = (
        "At step 2 head calls `refund` where base calls `clarify_reason`: "
        "2 of 2 on head, 0 of 2 on base"
    )
    assert f"First difference: {said}." in " ".join(shown.split())
    rows = [line for line in shown.splitlines() if " tool call" in line]
    assert rows[0].count("\N{NOT EQUAL TO} ") == 2, "marked on both sides"
    changed = "Changed here: agents/prompts/support.md\n  - Always ask for the reason first.\n"
    assert f"{changed}  + Always be quick first.\n" in shown
    assert "First difference" not in gateval(worse, "show", "greets").stdout


def test_get_leaves_columns_out_where_the_screen_is_narrow(worse: Repo) -> None:
    assert gateval(worse, "check").returncode == 1
    narrow = at_terminal(worse, "get", "evals", columns=50)
    assert narrow.splitlines()[0].split() == ["NAME", "AGENT", "SCORE", "PASSING", "PHASE"]
    assert "Left out, as the screen is narrow: REVISION, LAST RUN." in " ".join(narrow.split())
    wide = at_terminal(worse, "get", "evals", columns=100)
    assert "REVISION" in wide.splitlines()[0]
    assert "Left out" not in wide


def test_a_plot_says_what_its_marks_are(worse: Repo) -> None:
    worse.write("evals/support-eval.yaml", f"{EVAL}  scoring: {{passThreshold: 0.9}}\n")
    worse.commit()
    assert gateval(worse, "check").returncode == 1
    drawn = " ".join(gateval(worse, "history", "--plot", "terminal").stdout.split())
    legend = "from \N{LOWER ONE EIGHTH BLOCK} (0) to \N{FULL BLOCK} (1), the newest last; ! something regressed, ? not measured"
    assert legend in drawn
    narrow = at_terminal(worse, "history", columns=80).splitlines()
    assert narrow[0].split() == ["EVAL", "SCORES", "LAST", "THRESHOLD", "FROM", "TO", "RUNS"]
    assert "0.90" in narrow[1].split()
    assert gateval(worse, "history", "support-eval", "--plot", "s.svg").returncode == 0
    plot = (worse.path / "s.svg").read_text()
    for said in ("threshold 0.90", "day and revision of the run", "score and 95 % interval",
                 "something regressed", "not measured"):  # fmt: skip
        assert said in plot, said


def test_flaky_names_what_is_unknown(worse: Repo) -> None:
    assert gateval(worse, "check").returncode == 1
    done = gateval(worse, "flaky", "suport-eval")
    assert done.returncode == 2
    assert 'No run of an Eval "suport-eval" is known. Did you mean "support-eval"?' in done.stderr
    assert gateval(worse, "flaky", "support-eval").returncode == 0


def test_results_inside_the_repository_are_ignored_by_git(worse: Repo) -> None:
    assert gateval(worse, "check", "--results", "out/mine").returncode == 1
    assert worse.status() == b""
    first = json.loads((worse.path / "out/mine/results.v1.json").read_text())
    again = gateval(worse, "check", "--results", "out/more")
    assert again.returncode == 1
    second = json.loads((worse.path / "out/more/results.v1.json").read_text())
    assert second["plan"]["head"] == first["plan"]["head"], "the head is no changed working tree"
