from __future__ import annotations

import pytest

from gateval.domain.paths import leads_out, resolve_path


@pytest.mark.parametrize(
    ("folder", "relative", "expected"),
    [
        ("agents", "p.md", "agents/p.md"),
        ("agents", "./p.md", "agents/p.md"),
        ("agents", "x//p.md", "agents/x/p.md"),
        ("agents", "../p.md", "p.md"),
        ("agents/a", "../../p.md", "p.md"),
        ("agents", "/p.md", "p.md"),
        ("agents", "/", ""),
        ("agents", "..", ""),
        ("agents", ".", "agents"),
        ("agents", "", "agents"),
        ("", "p.md", "p.md"),
        ("", ".", ""),
        ("agents", "x/../../y/p.md", "y/p.md"),
        ("agents", "../..", None),
        ("agents", "../../agents/p.md", None),
        ("", "..", None),
        ("agents", "/../p.md", None),
        ("agents", "a\\..\\b", "agents/a\\..\\b"),
        ("agents", "...", "agents/..."),
        ("agents", "src/**", "agents/src/**"),
    ],
)
def test_a_path_stays_inside(folder: str, relative: str, expected: str | None) -> None:
    assert resolve_path(folder, relative) == expected


@pytest.mark.parametrize(
    ("link", "target", "expected"),
    [
        ("a/b.yaml", "../c.yaml", False),
        ("a/b.yaml", "../../c.yaml", True),
        ("b.yaml", "/etc/passwd", True),
        ("b.yaml", "..", True),
    ],
)
def test_where_a_link_leads(link: str, target: str, expected: bool) -> None:
    assert leads_out(link, target) is expected
