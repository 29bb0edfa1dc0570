"""The pages on compatibility with a document, made from the rows that tests carry."""

from __future__ import annotations

import importlib
import inspect

from tests.compat.rows import ROOT, Row, Section, sections

_LEGEND = """\
Each row is a statement of the document and was made from a test that proves what is said here.
"""


def documents() -> list[str]:
    """Return the names of the documents that have a folder of tests."""
    return sorted(path.parent.name for path in ROOT.glob("*/__init__.py"))


def page(document: str) -> str:
    """Return `docs/reference/compat/DOCUMENT.md`; its first lines are the package's docstring."""
    package = importlib.import_module(f"tests.compat.{document}")
    parts = [inspect.cleandoc(package.__doc__ or ""), _LEGEND.strip()]
    parts += [_table(section) for section in sections(document) if section.rows]
    return "\n\n".join(parts) + "\n"


def _table(section: Section) -> str:
    lines = [f"## {section.title}", "", "| statement | here |", "|---|---|"]
    return "\n".join([*lines, *(f"| {_cell(r.statement)} | {_here(r)} |" for r in section.rows)])


def _here(row: Row) -> str:
    if row.refused:
        return f"refused: “{_cell(row.refused)}”"
    return f"differs: {_cell(row.differs)}" if row.differs else "supported"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
