"""Whatever somebody does to the log afterwards shows, and is named by entry."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateval.domain.audit import GENESIS, AuditEntry, AuditEvent, append, hash_of, id_of, read_log
from gateval.domain.base import ascii_json
from gateval.errors import RecordsError
from tests.helpers.audit_events import event, log
from tests.helpers.hostile import ATTACK, ATTACKS
from tests.helpers.tiers import examples

LENGTH = 7
WHOLE = log(LENGTH)
LINES = WHOLE.splitlines(keepends=True)
ANCHOR = read_log(WHOLE).newest

positions = st.integers(0, LENGTH - 1)


def shows(content: bytes, anchor: str = ANCHOR) -> bool:
    """Whether a reader who knows the newest hash sees that this is not the log."""
    found = read_log(content)
    return found.broken is not None or found.anchored(anchor) is None


def test_a_whole_log_is_whole() -> None:
    found = read_log(WHOLE)
    assert found.broken is None
    assert [entry.number for entry in found.entries] == list(range(1, LENGTH + 1))
    assert found.entries[0].previous == GENESIS
    assert found.anchored(ANCHOR) == found.entries[-1]
    assert not shows(WHOLE)


def long_log(length: int) -> bytes:
    """A whole log, without reading all of it again for each entry."""
    body = json.loads(LINES[0])
    lines, previous = [], GENESIS
    for number in range(1, length + 1):
        body |= {"number": number, "previous": previous, "reason": f"Reason {number}"}
        body["id"] = id_of(body)
        body["hash"] = previous = hash_of(body)
        lines.append(ascii_json(body))
    return "".join(f"{line}\n" for line in lines).encode()


MANY = 1_000
LONG = long_log(MANY)
LONG_LINES = LONG.splitlines(keepends=True)

FEWER = 200
FEWER_LINES = LONG_LINES[:FEWER]

places = st.integers(0, FEWER - 1)
bytes_of_it = st.integers(0, len(LONG) - 1)
long_logs = settings(max_examples=examples(25), deadline=None)


def broken_line(lines: list[bytes]) -> int | None:
    """The entry that a reader of these lines is told of; None if the log looks whole."""
    broken = read_log(b"".join(lines)).broken
    return broken.line if broken else None


def test_a_thousand_entries_are_read() -> None:
    assert len(read_log(LONG).entries) == MANY


@long_logs
@given(bytes_of_it, st.integers(1, 255))
def test_one_byte_in_a_thousand_entries_is_named_by_its_entry(place: int, mask: int) -> None:
    changed = LONG[:place] + bytes([LONG[place] ^ mask]) + LONG[place + 1 :]
    assert broken_line([changed]) == LONG.count(b"\n", 0, place) + 1


@long_logs
@example(len(LONG) - 1, b"\n")
@given(bytes_of_it, st.binary(max_size=1))
def test_one_byte_more_or_less_is_named_by_its_entry(place: int, added: bytes) -> None:
    rest = LONG[place:] if added else LONG[place + 1 :]
    line = LONG.count(b"\n", 0, place) + 1
    is_blank_line_behind = added == LONG[place : place + 1] == b"\n"
    assert broken_line([LONG[:place] + added + rest]) == line + is_blank_line_behind


@long_logs
@given(places)
def test_one_entry_less_is_named_by_the_one_in_its_place(place: int) -> None:
    found = read_log(b"".join(FEWER_LINES[:place] + FEWER_LINES[place + 1 :]))
    if place == FEWER - 1:
        newest = json.loads(FEWER_LINES[-1])["hash"]
        assert found.anchored(newest) is None, "it takes the anchor to see that"
    else:
        assert found.broken is not None
        assert found.broken.line == place + 1


@long_logs
@given(places, places)
def test_two_entries_in_each_others_place_are_named_by_the_first(one: int, other: int) -> None:
    lines = list(FEWER_LINES)
    lines[one], lines[other] = lines[other], lines[one]
    assert broken_line(lines) == (min(one, other) + 1 if one != other else None)


@long_logs
@given(places, st.integers(0, FEWER))
def test_an_entry_put_in_again_is_named_where_the_order_ends(source: int, place: int) -> None:
    lines = [*FEWER_LINES[:place], FEWER_LINES[source], *FEWER_LINES[place:]]
    assert broken_line(lines) == (place + 2 if place == source else place + 1)


@long_logs
@given(places, st.text(max_size=20))
def test_a_forged_entry_that_fits_is_named_by_the_one_after_it(place: int, reason: str) -> None:
    body = json.loads(FEWER_LINES[place]) | {"reason": f"forged {reason}"}
    body["id"] = id_of(body)
    body["hash"] = hash_of(body)
    forged = ascii_json(body).encode() + b"\n"
    assert broken_line([*FEWER_LINES[:place], forged, *FEWER_LINES[place:]]) == place + 2


def test_an_empty_log_is_whole_and_holds_no_anchor() -> None:
    assert read_log(b"") == ((), 0, None)
    assert read_log(b"").newest == GENESIS
    assert shows(b"")


@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_a_change_of_any_byte_is_found_without_an_anchor_and_named(place: int, mask: int) -> None:
    changed = bytearray(WHOLE)
    changed[place] ^= mask
    broken = read_log(bytes(changed)).broken
    assert broken is not None
    assert broken.line == WHOLE.count(b"\n", 0, place) + 1


@given(st.integers(0, len(WHOLE)), st.binary(min_size=1, max_size=3))
def test_any_inserted_byte_is_found_without_an_anchor(place: int, added: bytes) -> None:
    assert read_log(WHOLE[:place] + added + WHOLE[place:]).broken is not None


@given(st.integers(0, len(WHOLE) - 1))
def test_any_removed_byte_is_found_without_an_anchor(place: int) -> None:
    assert read_log(WHOLE[:place] + WHOLE[place + 1 :]).broken is not None


@given(positions)
def test_a_removed_entry_is_found(place: int) -> None:
    content = b"".join(LINES[:place] + LINES[place + 1 :])
    assert shows(content)
    if place < LENGTH - 1:
        broken = read_log(content).broken
        assert broken is not None
        assert broken.line == place + 1


@given(positions, positions)
def test_swapped_entries_are_found(one: int, other: int) -> None:
    lines = list(LINES)
    lines[one], lines[other] = lines[other], lines[one]
    broken = read_log(b"".join(lines)).broken
    assert (broken is None) == (one == other)
    assert broken is None or broken.line == min(one, other) + 1


@given(positions, st.integers(0, LENGTH))
def test_an_entry_that_stands_there_twice_is_found(source: int, place: int) -> None:
    content = b"".join([*LINES[:place], LINES[source], *LINES[place:]])
    assert read_log(content).broken is not None


@given(positions, st.integers(0, LENGTH))
def test_an_entry_of_another_log_is_found(source: int, place: int) -> None:
    strangers, _ = append(b"", event("Another log"))
    for number in range(source):
        strangers, _ = append(strangers, event(f"Another {number}"))
    line = strangers.splitlines(keepends=True)[-1]
    assert read_log(b"".join([*LINES[:place], line, *LINES[place:]])).broken is not None or (
        place == LENGTH == source
    )


@given(st.integers(0, LENGTH - 1))
def test_a_log_that_was_cut_off_needs_the_anchor(kept: int) -> None:
    content = b"".join(LINES[:kept])
    assert read_log(content).broken is None
    assert shows(content)


@given(positions, st.text(max_size=30))
def test_a_log_written_anew_from_some_entry_on_needs_the_anchor(place: int, reason: str) -> None:
    content = b"".join(LINES[:place])
    for number in range(place + 1, LENGTH + 1):
        text = f"{reason} forged {number}"
        content, _ = append(content, event(text))
    assert read_log(content).broken is None
    assert shows(content)


@given(positions, st.text(max_size=20))
def test_an_entry_with_a_new_hash_breaks_the_next_one(place: int, reason: str) -> None:
    forged = json.loads(LINES[place])
    forged["reason"] = f"forged {reason}"
    forged["id"] = id_of(forged)
    forged["hash"] = hash_of(forged)
    lines = [*LINES[:place], ascii_json(forged).encode() + b"\n", *LINES[place + 1 :]]
    content = b"".join(lines)
    assert shows(content)
    if place < LENGTH - 1:
        broken = read_log(content).broken
        assert broken is not None
        assert broken.line == place + 2
        assert "one of the two was replaced" in broken.why


@settings(max_examples=examples(25))
@given(st.text(max_size=3000))
def test_any_text_in_any_field_comes_back_as_it_was_stored(text: str) -> None:
    content, entry = append(WHOLE, event(text=text or "x"))
    assert read_log(content).entries[-1] == entry
    line = content.splitlines()[-1].decode("ascii")
    assert line.isprintable()


@pytest.mark.parametrize("attack", [*ATTACKS, ATTACK, "\udcff" * 20, "x" * 2**20, "😀" * 5000])
def test_hostile_text_never_keeps_an_event_from_being_recorded(attack: str) -> None:
    content, entry = append(b"", event(text=attack))
    assert len(content) < 64_000
    assert content.count(b"\n") == 1
    assert content.isascii()
    assert read_log(content).entries == (entry,)


def test_a_long_reason_says_that_it_was_cut() -> None:
    _, entry = append(b"", event("y" * 2**20))
    assert len(entry.reason) == 1000
    assert entry.reason.endswith("y… (1,048,576 characters)")


def test_the_same_event_is_recorded_once() -> None:
    content, first = append(WHOLE, event("Once"))
    again, second = append(content, event("Once"))
    assert again == content
    assert second == first


def test_nothing_is_added_to_a_broken_log() -> None:
    with pytest.raises(RecordsError, match="broken at entry 3: the entry was changed") as caught:
        append(WHOLE.replace(b"Reason 3", b"Reason 8"), event())
    assert "branch's own history" in caught.value.hint


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "is no JSON"),
        (b"{}", "does not give its hash"),
        (b"[1]", "not an entry in its canonical form"),
        (b"\xff", "bytes that no entry has"),
        (b'{"a":1,"a":1}', "stands there twice"),
        (LINES[0].strip() + b" ", "canonical form"),
        (LINES[0].strip() + b"\r", "canonical form"),
        (json.dumps(json.loads(LINES[0])).encode(), "canonical form"),
    ],
)
def test_lines_that_are_no_entries(line: bytes, why: str) -> None:
    broken = read_log(line + b"\n").broken
    assert broken is not None
    assert broken.line == 1
    assert why in broken.why


def chained(**changes: object) -> bytes:
    """A first entry with these changes and a hash that is right."""
    body = json.loads(LINES[0])
    body |= changes
    body["hash"] = hash_of(body)
    return ascii_json(body).encode() + b"\n"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "holiday"}, "kind in it is not as Gateval writes"),
        ({"extra": 1}, "extra in it is not as Gateval writes"),
        ({"at": "yesterday"}, "at in it is not as Gateval writes"),
        ({"reason": "x" * 5000}, "lacks fields that Gateval writes"),
        ({"number": 2}, "it says that it is entry 2"),
        ({"why": "Another"}, "its id is not the digest of its content"),
        ({"id": "0" * 64}, "its id is not the digest of its content"),
        ({"previous": "1" * 64}, "one of the two was replaced"),
    ],
)
def test_entries_that_are_chained_by_hand(changes: dict[str, object], why: str) -> None:
    broken = read_log(chained(**changes)).broken
    assert broken is not None
    assert why in broken.why


def test_an_entry_without_fields_that_came_later_is_whole() -> None:
    body = json.loads(LINES[0])
    assert body.pop("stored_by") is None
    body["id"] = id_of(body)
    body["hash"] = hash_of(body)
    assert read_log(ascii_json(body).encode() + b"\n").broken is None


def changed(**changes: object) -> AuditEvent:
    """The event of `LINES`, with these changes."""
    return AuditEvent.model_validate(event().model_dump() | changes)


LATER = {"at": "2026-11-21T14:00:00Z"}


@pytest.mark.parametrize(
    ("first", "changes", "entries"),
    [
        ({}, {}, 1),
        ({}, LATER | {"run": {"id": "4712"}}, 1),
        ({}, LATER | {"head": "c" * 40}, 2),
        ({}, LATER | {"verdict": "incomplete"}, 2),
        ({}, LATER | {"reason": "Another"}, 2),
        ({"at": "2001-01-01T00:00:00Z"}, {}, 2),
        ({"at": "2036-01-01T00:00:00Z"}, {}, 2),
        ({"label": None}, {"label": None}, 1),
        ({"label": None}, LATER | {"label": None}, 2),
        ({"kind": "bypass-denied"}, LATER | {"kind": "bypass-denied", "verdict": None}, 1),
    ],
)
def test_what_the_log_says_already_is_not_said_again(
    first: dict[str, object], changes: dict[str, object], entries: int
) -> None:
    content, _ = append(b"", changed(**first))
    content, entry = append(content, changed(**changes))
    assert len(read_log(content).entries) == entries
    assert entry.number == entries


def test_an_entry_of_a_later_version_is_not_called_broken() -> None:
    with pytest.raises(RecordsError, match=r'Entry 1 .* has the version "audit.v2"'):
        read_log(chained(version="audit.v2"))


def test_the_hash_can_be_computed_with_the_standard_library_alone() -> None:
    for line in LINES:
        entry = json.loads(line)
        said = entry.pop("hash")
        text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(text.encode()).hexdigest() == said
        body = {key: entry[key] for key in entry if key not in ("id", "number", "previous")}
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() == entry["id"]


def test_an_entry_names_at_most_fifty_evals_and_bars() -> None:
    many = event().model_copy(update={"failing": event().failing * 80, "bars": ("x",) * 80})
    entry = AuditEntry.model_validate(
        many.model_dump() | {"id": "0" * 64, "number": 1, "previous": GENESIS, "hash": "0" * 64}
    )
    assert (len(entry.failing), len(entry.bars)) == (50, 50)
