"""The page of attacks, made from what the tests that carry them out say of them."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent.parent / "tests"

_INTRODUCTION = """\
# Attacks

What somebody may try, and what comes of it. Each table stands in a test module, beside tests that
carry it out against the real entry or the real rule. [The threat model](../threat-model.md) says
who could, and what remains.
"""


class Section(NamedTuple):
    """A table: its title, the module that holds it, and further tests that carry it out."""

    title: str
    module: str
    beside: tuple[str, ...] = ()
    see: str = ""


SECTIONS = (
    Section("Commands in comments", "e2e/action/test_comments.py"),
    Section(
        "The bypass",
        "e2e/action/test_bypass_attacks.py",
        ("e2e/action/test_forged_records.py", "unit/domain/test_label_decisions.py"),
    ),
    Section(
        "Sealed manifests",
        "e2e/sealed/test_sealed_attacks.py",
        ("e2e/sealed",),
        "Their search for words looks into archives, compressed and encoded data, git's objects.",
    ),
    Section("Changes that are not seen as such", "integration/pipeline/test_change_detection.py"),
    Section(
        "Out of the walls",
        "hostile/test_hostile.py",
        (
            "integration/candidates/test_isolation.py",
            "integration/candidates/test_system_calls.py",
            "integration/candidates/test_egress.py",
            "e2e/test_checkout.py",
            "e2e/test_egress.py",
        ),
    ),
    Section(
        "Layers that somebody else made",
        "e2e/test_kept_layers_attacks.py",
        (
            "e2e/test_kept_layers.py",
            "e2e/action/test_layers_without_key.py",
            "integration/adapters/test_layers.py",
        ),
        "[Dependencies](../guides/dependencies.md#what-keeps-strangers-from-handing-over-a-layer) "
        "has the limits.",
    ),
    Section(
        "Answers that prove less",
        "e2e/test_evidence.py",
        (
            "e2e/test_gateway_policy.py",
            "e2e/test_upstream_attacks.py",
            "e2e/test_loopback_attacks.py",
            "e2e/test_impostors.py",
            "e2e/test_https_through_proxy.py",
            "e2e/test_keyless_providers.py",
            "e2e/test_unseen_processes.py",
            "integration/gateway/test_forced_connections.py",
            "integration/gateway/test_address_attacks.py",
        ),
    ),
    Section(
        "Checks of one's own",
        "e2e/test_own_checks.py",
        ("integration/candidates/test_checks.py", "integration/pipeline/test_check_files.py"),
    ),
    Section(
        "Playgrounds",
        "e2e/test_playground_attacks.py",
        (
            "e2e/test_playgrounds.py",
            "e2e/test_playground_changes.py",
            "integration/candidates/test_playground_attacks.py",
        ),
    ),
)


def page() -> str:
    """Return `docs/reference/attacks.md`. Raises `FileNotFoundError` for missing tests."""
    return "\n".join([_INTRODUCTION, *map(_section, SECTIONS)])


def _section(section: Section) -> str:
    rows = [f"| {attack} | {answer} |" for attack, answer in _attacks(section.module).items()]
    tests = ", ".join(_link(name) for name in (section.module, *section.beside))
    told = f"Carried out by {tests}." + (f" {section.see}" if section.see else "")
    return "\n".join(
        [f"## {section.title}\n", "| attack | answer |", "|---|---|", *rows, "", told, ""]
    )


def _link(name: str) -> str:
    (TESTS / name).stat()
    return f"[`{Path(name).name}`](../../tests/{name})"


def _attacks(module: str) -> dict[str, str]:
    """Return the module's `ANSWERED`, read and not run; links in it count from `docs`."""
    for node in ast.parse((TESTS / module).read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ANSWERED":
            found = ast.literal_eval(node.value)
            return {what: re.sub(r"\]\((?=[a-z])", "](../", said) for what, said in found.items()}
    raise LookupError(f"tests/{module} has no ANSWERED")
