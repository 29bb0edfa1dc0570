"""Definitions from a pull request that attack: none leads out, none takes long, none is a problem
of those whom no Eval asks for.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gateval.formats.definitions.assembly import entries
from gateval.formats.definitions.base import REFERENCES_LIMIT, references
from gateval.formats.definitions.registry import by_path, format_of
from tests.helpers.definitions import closure, found, read, refusals, sample

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
OUT = """\
---
name: out
tools: Read
---
@../../etc/passwd @/etc/passwd @~/.ssh/id_rsa [x](../../../etc/shadow) @file:///etc/hosts
@.git/config [y](https://example.com/x.md) @docs/../../out.md @docs/conventions.md.
"""


def test_nothing_outside_the_repository_is_followed(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "claude", "out")
    repo.write(".claude/agents/out.md", OUT)
    repo.commit()
    snapshot = read(repo)
    assert snapshot.problems == ()
    own = closure(snapshot, "out") - closure(snapshot, "test-runner")
    assert own == {".claude/agents/out.md"}
    assert "docs/conventions.md" in closure(snapshot, "out")
    assert references("@../../etc/passwd @~/x @docs/a.md", "") == ("docs/a.md",)


def test_a_link_out_of_the_repository_is_not_read(tmp_path: Path) -> None:
    """Neither as a definition, nor as what one refers to: the reader never opens it."""
    repo = sample(tmp_path / "repo", "claude")
    repo.link(".claude/agents/linked.md", "/etc/passwd")
    repo.link("docs/conventions2.md", "../../../../etc/passwd")
    repo.write(".claude/agents/one.md", "---\nname: one\n---\n@docs/conventions2.md\n")
    repo.commit()
    snapshot = read(repo)
    assert "linked" not in found(snapshot)
    assert snapshot.problems == ()


def test_a_link_to_a_file_of_the_repository_counts_with_its_target(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "codex")
    repo.delete("AGENTS.md")
    repo.write("docs/agents.md", "Keep changes small.\n")
    repo.link("AGENTS.md", "docs/agents.md")
    repo.commit()
    assert {"AGENTS.md", "docs/agents.md"} <= closure(read(repo), "codex")


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (BOMB, "every alias counted"),
        ("[" * 200 + "]" * 200 + "\n", "inside each other"),
        ("name: a\nname: b\n", "stands here twice"),
        ("name: !!python/object:os.system x\n", "tag"),
        ("- a\n- b\n", "no mapping"),
        ("name: 'a\n", ""),
    ],
)
def test_front_matter_that_cannot_be_read_is_told_where_an_eval_asks(
    tmp_path: Path, header: str, said: str
) -> None:
    text = f"---\n{header}---\nHi.\n"
    for name, wanted in (("bystander", False), ("asked", True)):
        repo = sample(tmp_path / name, "claude", *(("bad",) if wanted else ()))
        repo.write(".claude/agents/bad.md", text)
        repo.commit()
        started = time.process_time()
        snapshot = read(repo)
        assert time.process_time() - started < 10
        told = [str(one) for one in snapshot.problems]
        assert bool(told) is wanted, told
        assert not wanted or said in "".join(told)
        assert len(found(snapshot)) == 3


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "claude")
    repo.write(".claude/agents/huge.md", "---\nname: huge\n" + "x: y\n" * 100_000 + "---\nHi.\n")
    repo.write(".claude/agents/bytes.md", b"---\nname: \xff\xfe\n---\n")
    repo.commit()
    snapshot = read(repo)
    assert snapshot.problems == ()
    assert {"huge", "bytes"} <= refusals(snapshot).keys()


def test_references_have_a_limit_and_an_end(tmp_path: Path) -> None:
    """A thousand imports, and a circle of them."""
    repo = sample(tmp_path / "repo", "claude")
    for number in range(REFERENCES_LIMIT + 50):
        repo.write(f"docs/n{number}.md", f"@n{number + 1}.md @n0.md\n")
    body = " ".join(f"@docs/n{number}.md" for number in range(REFERENCES_LIMIT + 50))
    repo.write(".claude/agents/many.md", f"---\nname: many\n---\n{body}\n")
    repo.commit()
    assert len(closure(read(repo), "many")) < REFERENCES_LIMIT + 20


@pytest.mark.parametrize(
    "text",
    ["`" * 200_000, "```\n" * 60_000, "@a" * 100_000, "](" * 100_000, "---\n" * 60_000,
     "[](" + "a" * 200_000, "#file:" * 40_000, "~~~\n```\n" * 30_000],
)  # fmt: skip
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    references(text, "docs")
    entries(text)
    assert time.process_time() - started < 20


def test_no_path_takes_long() -> None:
    started = time.process_time()
    for path in ("a/" * 2_000 + ".claude/agents/x.md", ".github/agents/" * 500, ".md" * 2_000):
        by_path(path)
        format_of(path + ".yaml", b"kind: Prompt")
    assert time.process_time() - started < 5


@pytest.mark.parametrize("name", ["{{ input.payload }}", "-x", "a\\nb", "$(id)", "{home}"])
def test_a_name_that_would_be_more_than_a_word_is_refused(tmp_path: Path, name: str) -> None:
    repo = sample(tmp_path / "repo", "claude")
    repo.write(".claude/agents/odd.md", f'---\nname: "{name}"\n---\nHi.\n')
    repo.commit()
    snapshot = read(repo)
    assert len(found(snapshot)) == 3
    assert "cannot be the name" in "".join(refusals(snapshot).values())


def test_the_prompt_of_a_definition_is_no_template(tmp_path: Path) -> None:
    """What looks like a template in a prompt reaches the model as it stands there."""
    repo = sample(tmp_path / "repo", "copilot", "release-notes")
    path = ".github/prompts/release-notes.prompt.md"
    repo.write(path, "---\nmodel: gpt-5\n---\n{{ input.payload.secret }} {% raw %}\n")
    repo.commit()
    snapshot = read(repo)
    assert snapshot.problems == ()
    agent = snapshot.catalogue.agent("release-notes")
    assert agent is not None
    assert agent.spec.runtime is not None
    assert agent.spec.runtime.options["stdin"] == "{{ agent.system }}\n\n{{ prompt }}"


def test_a_path_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    repo = sample(tmp_path / "repo", "claude", "odd")
    odd = os.fsdecode(b".claude/agents/\xff.md")
    repo.write(odd, "---\nname: odd\n---\nHi.\n")
    repo.commit()
    (problem,) = read(repo).problems
    assert "The path of this file is no UTF-8" in str(problem)


def test_many_definitions_that_lead_to_the_same_files_take_no_longer(tmp_path: Path) -> None:
    """Each large file and each document is read once, however many agents rest on it."""
    repo = sample(tmp_path / "repo", "kagent")
    large = {f"docs/n{number}.md": "`a` [b](c.md) @d.md\n" * 10_000 for number in range(20)}
    named = " ".join(f"@{path}" for path in large)
    agents = {f".claude/agents/a{n}.md": f"---\nname: a{n}\n---\n{named}\n" for n in range(300)}
    agent = (repo.path / "agents/orders.yaml").read_text().partition("---")[0]
    charts = {f"k/{n}.yaml": agent.replace("orders-agent", f"k{n}") for n in range(300)}
    repo.commit_many({**large, **agents, **charts})
    started = time.process_time()
    assert len(found(read(repo))) >= 600
    assert time.process_time() - started < 60
