"""Whether a label counts: every rule alone, and no label without each of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateval.domain.audit import AuditEntry, AuditKind, append, read_log
from gateval.domain.forge.trigger import Comment
from gateval.domain.label_decision import (
    AuditPerson,
    GateLabel,
    LabelDecision,
    LabelDecisions,
    LabelStatus,
    LabelUse,
)
from gateval.domain.labels import (
    Account,
    LabelEvent,
    LabelFacts,
    Push,
    StartingLabel,
    open_grant,
    rule_on,
    taken_off,
    use_before,
)
from gateval.domain.manifests.gate_config import BypassPolicy
from tests.helpers.audit_events import event as audit_event

HEAD, OLD = "a" * 40, "b" * 40
BYPASS = GateLabel.BYPASS
ADA = Account(login="ada", id=1, human=True)
EARLY, PUSHED, LATE = "2026-11-21T10:00:00Z", "2026-11-21T11:00:00Z", "2026-11-21T12:00:00Z"


def use(
    at: str = LATE, *, by: Account = ADA, added: bool = True, label: str = BYPASS, number: int = 5
) -> LabelEvent:
    return LabelEvent(number=number, label=label, added=added, by=by, at=at)


GOOD = LabelFacts(
    label=BYPASS,
    head=HEAD,
    pull_request=7,
    author="bob",
    events=(use(),),
    role="maintain",
    push=Push(after=HEAD, at=PUSHED),
)
TOLD = StartingLabel(label=BYPASS, head=HEAD, sender="ada")


def recorded(kind: AuditKind, *, head: str = HEAD, number: str = "5") -> dict[str, Any]:
    noted = audit_event().model_copy(
        update={
            "kind": kind,
            "head": head,
            "pull_request": 7,
            "label": LabelUse(name=BYPASS, by=AuditPerson(login="ada"), event=number),
        }
    )
    return {"recorded": read_log(append(b"", noted)[0]).entries}


def comment(body: str, *, by: str = "ada", at: str = LATE, edited: bool = False) -> Comment:
    return Comment(number=1, author=by, body=body, url="", created_at=at, edited=edited)


def rule(policy: BypassPolicy | None = None, **changes: Any) -> LabelDecision:
    return rule_on(GOOD.model_copy(update=changes), policy or BypassPolicy())


GRANTED: dict[str, dict[str, Any]] = {
    "newer than the push": {},
    "told by the webhook, nobody tells of pushes": {"push": None, "payload": TOLD},
    "in other letters, as GitHub compares": {"events": (use(label="Force-Eval-Bypass"),)},
    "told in other letters": {
        "push": None,
        "payload": TOLD.model_copy(update={"label": "FORCE-EVAL-BYPASS"}),
    },
    "taken off and put on again": {
        "events": (use(EARLY, number=1), use(PUSHED, added=False, number=2), use(number=5))
    },
    "another label came off": {"events": (use(), use(label="docs", added=False, number=9))},
    "an admin": {"role": "admin"},
    "by the author": {"author": "ada"},
    "the log tells of another use that was ended": recorded(AuditKind.BYPASS_ENDED, number="4"),
}

DENIED: dict[str, tuple[dict[str, Any], str]] = {
    "nobody put it on": ({"events": ()}, "does not tell who"),
    "taken off": ({"events": (use(), use(added=False, number=6))}, "does not tell who"),
    "in letters that look alike": (
        {"events": (use(label="force-eval-bypa\u017fs"),)},
        "does not tell who",
    ),
    "granted before, nobody tells of pushes": (
        {"push": None, **recorded(AuditKind.BYPASS_GRANTED)},
        "not known on which revision",
    ),
    "granted before, and told of another push": (
        {"push": Push(after=OLD, at=EARLY), **recorded(AuditKind.BYPASS_GRANTED)},
        "does not show this revision yet",
    ),
    "told of this head, and of another push": (
        {"push": Push(after=OLD, at=EARLY), "payload": TOLD},
        "does not show this revision yet",
    ),
    "told of this head, and of no push": (
        {"push": Push(), "payload": TOLD},
        "does not show this revision yet",
    ),
    "a bot": (
        {"events": (use(by=Account(login="x[bot]", id=2, human=False)),)},
        "not a person",
    ),
    "a deleted account": (
        {"events": (use(by=Account(login="ghost", human=False)),), "role": ""},
        "not a person",
    ),
    "triage": ({"role": "triage"}, "role triage"),
    "write": ({"role": "write"}, "admin or maintain may"),
    "Maintain": ({"role": "Maintain"}, "role Maintain"),
    "no role": ({"role": ""}, "no role"),
    "unknown revision": ({"push": None}, "not known on which revision"),
    "the push told is of another commit": (
        {"push": Push(after=OLD, at=EARLY)},
        "does not show this revision yet",
    ),
    "told of another label": (
        {"push": None, "payload": TOLD.model_copy(update={"label": "docs"})},
        "not known on which revision",
    ),
    "told of another person": (
        {"push": None, "payload": TOLD.model_copy(update={"sender": "eve"})},
        "not known on which revision",
    ),
    "another use was granted": (
        {"push": None, **recorded(AuditKind.BYPASS_GRANTED, number="4")},
        "not known on which revision",
    ),
    "something could not be read": ({"unknown": "GitHub is down."}, "GitHub is down."),
}

ENDED: dict[str, dict[str, Any]] = {
    "older than the push": {"events": (use(EARLY),)},
    "older than the push, whatever the webhook told": {"events": (use(EARLY),), "payload": TOLD},
    "told of another head": {
        "push": None,
        "payload": TOLD.model_copy(update={"head": OLD}),
    },
    "ended before": recorded(AuditKind.BYPASS_ENDED),
    "granted for another head": recorded(AuditKind.BYPASS_GRANTED, head=OLD),
}


@pytest.mark.parametrize("case", GRANTED)
def test_granted(case: str) -> None:
    assert rule(**GRANTED[case]).status is LabelStatus.GRANTED


@pytest.mark.parametrize("case", DENIED)
def test_denied(case: str) -> None:
    changes, words = DENIED[case]
    label_decision = rule(**changes)
    assert label_decision.status is LabelStatus.DENIED
    assert words in label_decision.why


@pytest.mark.parametrize("case", ENDED)
def test_ended(case: str) -> None:
    label_decision = rule(**ENDED[case])
    assert label_decision.status is LabelStatus.ENDED
    assert "a push ended it" in label_decision.why


def test_in_the_very_second_of_the_push() -> None:
    label_decision = rule(events=(use(PUSHED),), payload=TOLD)
    assert label_decision.status is LabelStatus.ENDED
    assert f"in the very second of a push ({PUSHED})" in label_decision.why


def test_the_authors_own_label() -> None:
    assert rule(author="ada").use.own
    strict = BypassPolicy(allow_author=False)
    assert rule(strict, author="ada").status is LabelStatus.DENIED
    assert rule(strict).granted


REASONS = {
    "given": (comment("/force-eval-bypass Shop is down."), "Shop is down."),
    "over several lines": (comment("/force-eval-bypass Shop\nis down."), "Shop is down."),
    "below the command": (comment("/force-eval-bypass\r\nShop is down."), "Shop is down."),
    "by somebody else": (comment("/force-eval-bypass No.", by="eve"), ""),
    "invisible": (comment("/force-eval-bypass \u200b."), ""),
    "nothing at all": (comment(" "), ""),
    "edited": (comment("/force-eval-bypass No.", edited=True), ""),
    "for the other label": (comment("/accept-bar-change No."), ""),
    "empty": (comment("/force-eval-bypass   "), ""),
    "another word": (comment("/force-eval-bypassed No."), ""),
    "quoted": (comment("> /force-eval-bypass No."), ""),
    "for the use before": (comment("/force-eval-bypass Old.", at="2026-11-21T09:00:00Z"), ""),
}


@pytest.mark.parametrize("case", REASONS)
def test_the_reason(case: str) -> None:
    said, expected = REASONS[case]
    events = (use(EARLY, number=1), use(PUSHED, added=False, number=2), use(number=5))
    policy = BypassPolicy(require_reason=True)
    label_decision = rule(policy, events=events, comments=(said,))
    assert label_decision.reason == expected
    assert label_decision.granted == bool(expected)


FACTS = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["admin", "maintain", "write", "triage", "read", ""]),
        "push": st.sampled_from([None, GOOD.push, Push(after=OLD, at=PUSHED), Push()]),
        "payload": st.sampled_from([None, TOLD, TOLD.model_copy(update={"head": OLD})]),
        "author": st.sampled_from(["ada", "bob"]),
        "unknown": st.sampled_from(["", "GitHub is down."]),
        "events": st.sampled_from(
            [
                (),
                (use(),),
                (use(EARLY),),
                (use(by=Account(login="ada", id=1, human=False)),),
                (use(), use(added=False, number=6)),
            ]
        ),
    }
)


@settings(max_examples=500, derandomize=True)
@given(FACTS)
def test_no_label_counts_without_a_person_a_role_and_this_head(facts: dict[str, Any]) -> None:
    label_decision = rule(**facts)
    if not label_decision.granted:
        assert label_decision.why
        return
    (event,) = facts["events"]
    assert event.by.human
    assert facts["role"] in {"admin", "maintain"}
    assert not facts["unknown"]
    newer = facts["push"] is not None and facts["push"].after == HEAD and event.at > PUSHED
    assert newer or (facts["push"] is None and facts["payload"] == TOLD)


def test_every_label_of_a_group_has_to_count() -> None:
    granted, denied = rule(), rule(role="")
    assert LabelDecisions(found=(granted, granted)).bypass == granted
    assert LabelDecisions(found=(granted, denied)).bypass is None
    assert LabelDecisions(found=(granted,)).bar is None


def log(*kinds: AuditKind, label: str = BYPASS, pull_request: int = 7) -> tuple[AuditEntry, ...]:
    text = b""
    for number, kind in enumerate(kinds):
        use_of = LabelUse(name=GateLabel(label), by=AuditPerson(login="ada"), event=str(number))
        fields = {"kind": kind, "pull_request": pull_request, "label": use_of}
        text, _ = append(text, audit_event().model_copy(update=fields))
    return read_log(text).entries


GRANT, BAR = AuditKind.BYPASS_GRANTED, AuditKind.BAR_ACCEPTED
END, OFF = AuditKind.BYPASS_ENDED, AuditKind.BYPASS_WITHDRAWN


@pytest.mark.parametrize(
    ("entries", "newest"),
    [
        ((), None),
        (log(GRANT), 0),
        (log(BAR), 0),
        (log(GRANT, GRANT), 1),
        (log(GRANT, END), None),
        (log(GRANT, OFF), None),
        (log(GRANT, OFF, GRANT), 2),
        (log(GRANT, AuditKind.BYPASS_DENIED), 0),
        (log(GRANT, label=GateLabel.ACCEPT_BAR), None),
        (log(GRANT, pull_request=8), None),
        ((*log(GRANT), *log(END, pull_request=8)), 0),
        ((*log(GRANT), *log(END, label=GateLabel.ACCEPT_BAR)), 0),
    ],
)
def test_a_grant_is_open_until_something_ends_it(
    entries: tuple[AuditEntry, ...], newest: int | None
) -> None:
    assert open_grant(BYPASS, 7, entries) == (None if newest is None else entries[newest])


def test_an_entry_about_no_label_ends_nothing() -> None:
    bare = log(END)[0].model_copy(update={"label": None})
    assert open_grant(BYPASS, 7, (*log(GRANT), bare)) is not None


@pytest.mark.parametrize(
    ("events", "gone"),
    [
        ((), False),
        ((use(),), False),
        ((use(), use(added=False)), True),
        ((use(), use(added=False), use()), False),
        ((use(label=GateLabel.ACCEPT_BAR, added=False),), False),
        ((use(added=False), use(label=GateLabel.ACCEPT_BAR)), True),
    ],
)
def test_a_label_was_taken_off_where_that_is_the_newest_event(
    events: tuple[LabelEvent, ...], *, gone: bool
) -> None:
    found = taken_off(BYPASS, events, "bob")
    assert (found is not None) is gone
    if found:
        assert (found.name, found.by.login, found.applied_at) == (BYPASS, "ada", LATE)
        assert (found.by.id, found.event, found.own) == (1, "5", False)
        assert taken_off(BYPASS, events, "ada") == found.model_copy(update={"own": True})


@pytest.mark.parametrize("changes", [{}, {"role": "read"}, {"events": ()}], ids=str)
def test_a_ruling_says_what_it_is_about(changes: dict[str, Any]) -> None:
    label_decision = rule(**changes)
    assert (label_decision.label, label_decision.pull_request, label_decision.head) == (
        BYPASS,
        7,
        HEAD,
    )
    by = (label_decision.use.by.login, label_decision.use.by.id, label_decision.use.applied_at)
    assert by == (("ada", 1, LATE) if "events" not in changes else ("", None, ""))


def test_a_deleted_account_has_no_name() -> None:
    nobody = Account(login="", human=False)
    assert rule(events=(use(by=nobody),)).why.startswith("Nobody known is not a person")


@pytest.mark.parametrize(
    ("events", "before"),
    [
        ((use(),), ""),
        ((use(EARLY), use(PUSHED, added=False), use()), EARLY),
        ((use(EARLY), use(PUSHED), use()), PUSHED),
        ((use(EARLY, label=GateLabel.ACCEPT_BAR), use()), ""),
        ((use(EARLY, added=False), use()), ""),
    ],
)
def test_each_use_has_a_reason_of_its_own(events: tuple[LabelEvent, ...], before: str) -> None:
    assert use_before(BYPASS, events, events[-1]) == before
