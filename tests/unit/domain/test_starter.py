"""What `init` chooses, as tables."""

from __future__ import annotations

import pytest

from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.setup.starter import free_name, looks_like_a_prompt, sketch


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("prompts/support.md", True),
        ("src/support_prompt.txt", True),
        ("SystemPrompt.md", True),
        ("a/prompts/b/c.prompt", True),
        ("prompts/README.md", False),
        ("prompts/support.py", False),
        ("AGENTS.md", False),
        ("docs/guide.md", False),
        ("prompts/\udcff.md", False),
        ("prompts/a\nb.md", False),
    ],
)
def test_a_prompt_is_known_by_its_name(path: str, *, expected: bool) -> None:
    assert looks_like_a_prompt(path) is expected


@pytest.mark.parametrize(
    ("paths", "name", "prompt"),
    [
        ((), "assistant", ""),
        (("prompts/support.md",), "support", "prompts/support.md"),
        (("a/b/prompts/deep.md", "prompts/near.md"), "near", "prompts/near.md"),
        (("refunds/system_prompt.txt",), "refunds", "refunds/system_prompt.txt"),
        (("prompt.md",), "assistant", "prompt.md"),
        (("prompts/Größe prompt!.md",), "gr-e", "prompts/Größe prompt!.md"),
    ],
)
def test_a_new_agent_is_named_after_its_prompt(
    paths: tuple[str, ...], name: str, prompt: str
) -> None:
    chosen = sketch(Catalogue(), paths, "scripted/first")
    assert chosen is not None
    assert (chosen.name, chosen.prompt, chosen.new) == (name, prompt, True)


def test_a_name_that_is_taken_gets_a_number() -> None:
    assert free_name("a", ["b"]) == "a"
    assert free_name("a", ["a", "a-2", "a-4"]) == "a-3"
