"""Entries of the audit log as people see them, and in a runner's log."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.audit import AuditEntry, AuditEvent, AuditKind, append
from gateval.render.audit_log import entry_line, log_line, summary_section
from tests.helpers.audit_events import event
from tests.helpers.github_markdown import read
from tests.helpers.hostile import ATTACK, ATTACKS
from tests.helpers.runner_log import commands


def entry(said: AuditEvent) -> AuditEntry:
    return append(b"", said)[1]


def test_a_granted_bypass() -> None:
    assert entry_line(entry(event())) == (
        "1 2026-11-21 13:05:00 UTC bypass granted on acme/shop pull request 12 at a1b2c3d; "
        "label force-eval-bypass by alice (admin); "
        'reason "Provider outage, hotfix for checkout."; refunds 2 of 9 failed and 1 not measured'
    )


def test_a_denied_one_says_why() -> None:
    denied = event().model_copy(
        update={
            "kind": AuditKind.BYPASS_DENIED,
            "reason": "",
            "why": "the role triage is not in policy.bypass.roles",
            "failing": (),
        }
    )
    assert entry_line(entry(denied)).endswith(
        "by alice (admin); the role triage is not in policy.bypass.roles"
    )


def test_many_failing_evals_are_counted() -> None:
    many = event().model_copy(update={"failing": event().failing * 5, "failing_total": 61})
    assert entry_line(entry(many)).endswith("and 58 more Evals")


@pytest.mark.parametrize("kind", list(AuditKind))
def test_every_kind_has_words(kind: AuditKind) -> None:
    words = kind.split("-")[0]
    line = entry_line(entry(event().model_copy(update={"kind": kind})))
    assert words in line or kind in {AuditKind.BAR_ACCEPTED, AuditKind.NOT_EVALUATED}


@pytest.mark.parametrize("attack", [*ATTACKS, ATTACK])
def test_hostile_fields_do_nothing(attack: str) -> None:
    made = entry(event(text=attack))
    line, log = entry_line(made), log_line(made)
    assert "\n" not in line + log
    assert line.isprintable()
    assert log.isascii()
    assert log.isprintable()
    assert commands(line) == commands(log) == []
    page = read(summary_section(made))
    assert page.balanced
    assert not page.comments
    assert set(page.tags) <= {"h3", "ul", "li", "code", "p", "span"}


def test_a_name_with_a_sentence_in_it_stands_in_quotes() -> None:
    made = event().model_copy(update={"repository": "acme/shop; label x by mallory (admin)"})
    assert 'on "acme/shop; label x by mallory (admin)" pull request' in entry_line(entry(made))


@given(st.text(max_size=200))
def test_the_log_line_is_the_entry(text: str) -> None:
    made = entry(event(text=text or "x"))
    assert AuditEntry.model_validate(json.loads(log_line(made))) == made
    assert commands(log_line(made)) == []


def test_the_job_summary_shows_the_hash_or_says_that_there_is_none() -> None:
    made = entry(event())
    assert f"<code>{made.hash}</code>" in summary_section(made)
    assert "not in the audit log" in summary_section(event())
