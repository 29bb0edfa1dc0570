"""The runner's files, read back as the runner reads them."""

from __future__ import annotations

from pathlib import Path

from gateval.adapters.github.runner import SUMMARY_LIMIT, RunnerFiles
from gateval.domain.text import EMPTY, markdown
from tests.helpers.hostile import ATTACK


def read_entries(text: str) -> dict[str, str]:
    """Parse `NAME<<TOKEN`, lines, `TOKEN`, as actions/runner does (FileCommandManager)."""
    entries: dict[str, str] = {}
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, token = line.split("<<", 1)
        value = []
        while (inner := next(lines)) != token:
            value.append(inner)
        entries[name] = "\n".join(value)
    return entries


def test_values_come_back_and_make_no_further_entries(tmp_path: Path) -> None:
    path = tmp_path / "output"
    path.write_text("before<<x\n1\nx\n")
    files = RunnerFiles({"GITHUB_OUTPUT": str(path)})
    attack = ATTACK.encode("utf-8", "replace").decode() + "\nverdict<<x\npass\nx\nEOF\n"
    files.output("verdict", "fail")
    files.output("why", attack)

    assert read_entries(path.read_text()) == {
        "before": "1",
        "verdict": "fail",
        "why": attack.replace("\r\n", "\n").replace("\r", "\n"),
    }


def test_each_entry_has_a_delimiter_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "state"
    files = RunnerFiles({"GITHUB_STATE": str(path)})
    files.state("one", "x")
    files.state("two", "x")

    tokens = {line.split("<<")[1] for line in path.read_text().splitlines() if "<<" in line}
    assert len(tokens) == 2
    assert all(len(token) > 32 for token in tokens)


def test_the_summary_stays_below_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    files = RunnerFiles({"GITHUB_STEP_SUMMARY": str(path)})

    assert files.summary(markdown("# One\n\n\n"))
    assert not files.summary(EMPTY.joined([markdown("é")] * (SUMMARY_LIMIT // 2)))
    assert files.summary(markdown("# Two"))
    assert path.read_text() == "# One\n\n# Two\n\n"


def test_outside_of_a_runner_nothing_is_written() -> None:
    files = RunnerFiles({})
    files.output("verdict", "pass")
    assert files.summary(markdown("text"))
