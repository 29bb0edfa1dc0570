"""Of tables that are marked `drawn` each run has some rows, and each night all."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
TABLE = "tests/e2e/action/test_links.py"
ROW = re.compile(
    r"::(test_results_are_linked_only_where_the_workflow_uploads_them)\[(.*)-(True|False)\]$",
    re.MULTILINE,
)
"""What a workflow uploads, which is drawn, and whether results are linked then."""


def rows(*words: str) -> list[tuple[str, str, str]]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", *words, TABLE],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ROW.findall(done.stdout)


def test_a_run_has_one_row_of_each_kind_and_the_night_has_all() -> None:
    drawn, all_rows = rows(), rows("-m", "not frameworks")
    kinds = Counter(linked for *_, linked in all_rows)
    assert min(kinds.values()) > 2
    assert Counter(linked for *_, linked in drawn) == dict.fromkeys(kinds, 1)
    assert set(drawn) < set(all_rows)
