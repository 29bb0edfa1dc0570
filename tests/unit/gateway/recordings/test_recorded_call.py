"""The file of a recorded call: readable, and read back as it was."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from gateval.gateway.recordings.recorded_call import (
    MOST_PLACEHOLDERS,
    Answered,
    AskedCall,
    Placeholders,
    RecordedCall,
    asked_call,
    read_calls,
    write_call,
)
from gateval.safe.redaction import Redactor

NOTHING = Redactor()
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["a\nb", "x" * 40_000]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=3) | st.sampled_from(["$lines", "$file", "$$"]), inner, max_size=3
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_what_is_folded_for_people_is_read_as_it_was(value: JsonValue) -> None:
    names = Placeholders((), ())
    asked = AskedCall("openai-chat", "openai/m", lambda: value, "", names)
    text, long = write_call(RecordedCall("agent", "a", 1, asked, Answered(200, value)), NOTHING)
    (again,) = read_calls(f"[{text}]", long)
    assert again.asked.body == value
    assert again.outcome == Answered(200, value)


def test_a_text_of_several_lines_is_a_line_each() -> None:
    names = Placeholders((), ())
    body = json.dumps({"messages": [{"content": "one\ntwo"}], "user": "me"}).encode()
    asked = asked_call("openai-chat", "openai/m", body, names, NOTHING)
    text, long = write_call(
        RecordedCall("agent", "a", 1, asked, Answered(200, {"x": "y" * 40_000})), NOTHING
    )
    assert '            "one",\n            "two"\n' in text
    assert '"me"' not in text
    assert len(text) < 1_000
    assert list(long.values()) == ["y" * 40_000]
    (again,) = read_calls(f"[{text}]", long)
    assert again.outcome == Answered(200, {"x": "y" * 40_000})
    assert again.asked.key == asked.key


def test_equal_requests_of_two_runs_have_one_digest_and_others_do_not() -> None:
    def digest(text: str, *drawn: str) -> str:
        body = json.dumps({"q": text}).encode()
        return asked_call("w", "m", body, Placeholders(drawn, ["/tmp/gateval-1"]), NOTHING).digest

    assert digest("<abcdef01>", "abcdef01") == digest("<12345678>", "12345678")
    assert digest("order 7") != digest("order 8")
    assert digest("on 2020-01-01") != digest("on 2020-01-02"), "a day of the fixture's is no other"
    ours = "11111111-1111-1111-1111-111111111111"
    others = "22222222-1111-1111-1111-111111111111"
    assert digest(f"{ours} {ours}") == digest(f"{others} {others}") != digest(f"{ours} {others}")


def test_a_flood_of_identifiers_costs_little() -> None:
    flood = " ".join(f"{number:08x}-1111-1111-1111-111111111111" for number in range(50_000))
    names = Placeholders((), ())
    found = names.found_in(flood)
    assert found.count("{gateval:uuid-") == MOST_PLACEHOLDERS
    assert names.filled(found) == flood
    assert Placeholders((), ["/tmp/a"]).found_in("/tmp/a" + "/a" * 100_000).startswith("{gateval:f")
