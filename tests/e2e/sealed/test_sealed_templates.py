"""Plain templates that a sealed Eval fills in: what a change makes of them tells no word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.repo import Repo
from tests.helpers.sealed import AGENT, CONFIG, KEY, PROGRAM, leaks, seal

TEMPLATE = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: notContains, value: "{{ vars.word }}"}]
"""
HELD = """\
apiVersion: gateval/v1
kind: Eval
metadata: {name: held-out}
spec:
  targetAgent: desk
  fixtures: [greets]
  vars: {word: ZANZIBAR(}
"""

EDITS = {
    "a changed assertion": ("value: \"{{ vars.word }}\"", 'value: "x{{ vars.word }}"'),
    "another assertion": ("type: notContains, value", "type: regex, pattern"),
    "in the prompt": ("prompt: Hello", 'prompt: "Hello {{ vars.word }}"'),
    "as a key of nothing": ("type: notContains", 'type: notContains, axis: "{{ vars.word }}"'),
    "as a severity": ("spec:", 'spec:\n  severity: "{{ vars.word }}"'),
    "as a file": ("assertions: [", 'assertions: [{type: fileContains, path: "/{{ vars.word }}", value: x}, '),
    "as a command": ("assertions: [", 'assertions: [{type: commandResult, command: ["{{ vars.word }}"]}, '),
    "as a tool": ("assertions: [", 'assertions: [{type: toolCalled, tool: "{{ vars.word }}"}, '),
    "as a description": ("spec:", 'spec:\n  description: "{{ vars.word }}"'),
    "as a file of a playground": ("spec:", 'spec:\n  playground: {files: ["{{ vars.word }}"]}'),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_a_template_shows_nothing_of_what_fills_it_in(tmp_path: Path, edit: str) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("desk/agent.yaml", AGENT)
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Many thanks."))
    shop.write(".github/gateval.yml", CONFIG)
    shop.write("evals/greets.yaml", TEMPLATE)
    seal(shop, "evals/held.yaml", HELD)
    shop.commit()
    shop.branch("edits")
    old, new = EDITS[edit]
    assert old in TEMPLATE
    shop.write("evals/greets.yaml", TEMPLATE.replace(old, new))
    shop.commit()
    out = tmp_path / "out"
    said = []
    for words in (["check", "--base", "main", "--results", str(out)], ["plan", "--base", "main"],
                  ["plan", "--base", "main", "--json"], ["validate"]):  # fmt: skip
        done = gateval(shop, *words, **KEY)
        said += [done.stdout, done.stderr]
    assert leaks([out] if out.exists() else [], said) == []
    assert "whoever edits it could have the sealed vars shown" in " ".join(said[1].split())


def test_a_template_in_the_sealed_file_is_filled_in(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("desk/agent.yaml", AGENT)
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Many thanks."))
    shop.write(".github/gateval.yml", CONFIG)
    seal(shop, "evals/held.yaml", f"{TEMPLATE}---\n{HELD}")
    shop.commit()
    done = gateval(shop, "run", "held-out", "--results", str(tmp_path / "out"), **KEY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert leaks([tmp_path], [done.stdout, done.stderr]) == []
