"""The documents agree with the code and with each other."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from gateval.cli.main import COMMANDS
from tests.helpers.command import ROOT
from tools.reference import pages, stale

LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(#[^)]*)?\)")


def documents() -> list[Path]:
    """Every markdown file that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    names = [name for name in listed.stdout.decode().split("\0") if name]
    return [
        path for name in names if "__snapshots__" not in name and (path := ROOT / name).exists()
    ]


def test_generated_pages_are_up_to_date() -> None:
    assert [str(path) for path in stale()] == [], "run `make docs`"


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target, _ in LINK.findall(path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path}: {target}"


def test_the_index_of_decisions_lists_every_page_by_its_title() -> None:
    folder = ROOT / "docs/adr"
    listed = re.findall(r"^(\d+\. )\[(.+)\]\((.+)\)$", (folder / "README.md").read_text(), re.M)
    pages = sorted(folder.glob("0*.md"))
    assert [name for *_, name in listed] == [page.name for page in pages]
    for (number, title, _), page in zip(listed, pages, strict=True):
        assert page.read_text("utf-8").startswith(f"# {number}{title}\n"), page


def test_the_page_of_guides_lists_every_guide_once() -> None:
    folder = ROOT / "docs/guides"
    listed = re.findall(
        r"^- \[[^]]+\]\(([\w-]+\.md)\): ", (folder / "README.md").read_text("utf-8"), re.M
    )
    assert sorted(listed) == sorted(p.name for p in folder.glob("*.md") if p.name != "README.md")


def test_all_pages_install_it_the_same_way() -> None:
    pages = (ROOT / "README.md", ROOT / "docs/getting-started.md")
    found = [re.findall(r"^pipx install .*$", page.read_text(), re.M) for page in pages]
    assert found[0] == found[1] != []


def test_the_readme_leads_with_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"```sh\n(.*?)```", readme, re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].strip().splitlines()] == [
        "make demo",
        "make test",
    ]
    for command in re.findall(r"^gateval (\w+)", readme, re.MULTILINE):
        assert command in COMMANDS, command


def test_every_command_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/cli.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"## gateval {name}" in page


def test_what_is_written_by_hand_stays_readable() -> None:
    """At most 40,000 words beside the decisions: what code or a schema knows makes its own page."""
    made = {path for path, _ in pages()}
    first = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    guides = [path for path in documents() if path.is_relative_to(ROOT / "docs")]
    by_hand = [one for one in guides if one not in made and one.parent.name != "adr"]
    assert sum(len(one.read_text("utf-8").split()) for one in (*first, *by_hand)) <= 40_000
