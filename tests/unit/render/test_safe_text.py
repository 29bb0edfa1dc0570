"""Text from outside is a type: mypy refuses it in whatever GitHub shows, unless it was escaped."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

import gateval
from gateval.domain.forge.check_run import Conclusion
from gateval.domain.text import Label, Safe, markdown
from gateval.publish.check import Ending

ROOT = Path(gateval.__file__).parent
PROJECT = Path(__file__).parents[3]

WRITER = """
from collections.abc import Mapping
from gateval.adapters.github.runner import RunnerFiles
from gateval.domain.forge.check_run import (
    Annotation, AnnotationLevel, Announcement, CheckReport, Conclusion, MarkedComment, mark
)
from gateval.domain.text import END, LINES, Label, Safe, markdown, table_line
from gateval.ports.forge import Forge
from gateval.render.comment_parts import fill
from gateval.safe.sanitize import inline, label, plain_line


def writer(told: str, forge: Forge, files: RunnerFiles, line: MarkedComment) -> Safe:
    shown, title = inline(told, 80), label(told, 80)
    forge.create_comment(1, told)  # refused
    forge.update_comment(1, f"{shown}")  # refused
    forge.update_comment(1, shown + "\\n")  # refused
    forge.create_comment(1, mark(told, line))  # refused
    files.summary(plain_line(told, 80))  # refused
    CheckReport(name="n", external_id="", started_at="", title=told, summary=shown)  # refused
    CheckReport(name="n", external_id="", started_at="", title=title, summary=told)  # refused
    Annotation(path=told, line=1, level=AnnotationLevel.WARNING, title=title, message=title)  # refused
    Annotation(path=title, line=1, level=AnnotationLevel.WARNING, title=told, message=title)  # refused
    Annotation(path=title, line=1, level=AnnotationLevel.WARNING, title=title, message=told)  # refused
    markdown("{}", told)  # refused
    markdown("{}", title)  # refused
    markdown("{}", str(shown))  # refused
    LINES.joined([shown, told])  # refused
    shown.before(END, told)  # refused
    table_line([shown, told.upper()])  # refused
    Announcement(
        conclusion=Conclusion.FAILURE,
        title=shown,  # refused
        check_summary=told,  # refused
        comment="\\n".join([shown]),  # refused
        job_summary=title,  # refused
    )
    forge.create_comment(1, mark(fill("line.md.j2", name=told), line))
    forge.update_comment(1, LINES.joined([shown, markdown("### {} of {}", shown, 3)]))
    files.summary(table_line([shown, shown]))
    CheckReport(name="n", external_id="", started_at="", title=title, summary=shown)
    return told  # refused
"""


def test_mypy_refuses_every_slip(tmp_path: Path) -> None:
    file = tmp_path / "writer.py"
    file.write_text(WRITER)
    slips = {at for at, line in enumerate(WRITER.splitlines(), 1) if line.endswith("# refused")}

    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "pyproject.toml", str(file)],
        cwd=PROJECT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    told = [line.split(":", 2) for line in ran.stdout.splitlines() if ": error:" in line]
    assert {int(line) for path, line, _ in told if path.endswith("writer.py")} == slips, ran.stdout
    assert len(told) == len(slips)


MAKERS = {
    "domain/text.py",  # the types
    "safe/sanitize.py",  # the sanitiser
    "render/comment_parts.py",  # templates, in which nothing else stands
    "domain/forge/check_run.py",  # what our own check run shows, and the stamp
    "adapters/github/shapes.py",  # the annotations of our own check run
}
LOOKED_AT = {"Safe", "Label", "cast", "replace", "model_copy", "markdown"}
SHOWN = {"title", "summary", "check_summary", "job_summary"}


def made(tree: ast.AST) -> Iterator[int]:
    """The lines where text becomes safe, or takes the place of what is, unseen by mypy."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    other = any(
        one.name == "markdown" and node.module != "gateval.domain.text"
        for node in imports
        for one in node.names
    )
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func
        called = name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")
        if called not in LOOKED_AT:
            continue
        unseen = called == "cast" and {"Safe", "Label"} & set(ast.unparse(node.args[0]).split("'"))
        literal = bool(node.args) and isinstance(node.args[0], ast.Constant)
        given = {one.arg for one in node.keywords if isinstance(node.func, ast.Attribute)}
        keys = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
        copied = (called == "replace" and SHOWN & given) or (
            called == "model_copy" and SHOWN & keys
        )
        pattern = called == "markdown" and not other and not literal
        if called in {"Safe", "Label"} or unseen or copied or pattern:
            yield node.lineno


@pytest.mark.parametrize(
    "code",
    ["Safe(told)", "text.Label(told)", "cast('Safe', told)", "markdown(told)",
     "markdown(f'### {told}')", "said.model_copy(update={'title': told})", "said.replace(title=told)"],
)  # fmt: skip
def test_the_scan_finds_what_it_looks_for(code: str) -> None:
    assert list(made(ast.parse(code)))


def test_nobody_else_makes_text_safe() -> None:
    found = [
        f"{name}:{line}"
        for path in sorted(ROOT.rglob("*.py"))
        if (name := path.relative_to(ROOT).as_posix()) not in MAKERS
        for line in made(ast.parse(path.read_text("utf-8")))
    ]
    assert found == []


def test_a_value_takes_no_other_text_and_comes_back_from_a_file() -> None:
    with pytest.raises(ValidationError):
        Ending.model_validate({"conclusion": "failure", "title": "a title"})
    ending = Ending(conclusion=Conclusion.FAILURE, title=Label("a title"))
    assert Ending.model_validate_json(ending.model_dump_json()) == ending


def test_what_is_put_together_is_markdown_again() -> None:
    said = markdown("{:,} of {}", 1_000, markdown("it"))
    assert (said, type(markdown(", ").joined([said, said]))) == ("1,000 of it", Safe)
