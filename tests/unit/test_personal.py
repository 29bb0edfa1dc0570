"""Secrets and personal data are taken out of what was recorded; order numbers are not."""

from __future__ import annotations

import pytest

from gateval.domain.base import Value
from gateval.safe.redaction import PersonalRedactor


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("jane.doe@example.com", "email"),
        ("+1 (415) 555-2671", "phone"),
        ("4111 1111 1111 1111", "credit card"),
        ("123-45-6789", "ssn"),
        ("10.20.30.40", "ip address"),
        ("sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8xYz1B", "secret"),
        ("ghp_0123456789abcdefghijklmnopqrstuvwxyz", "secret"),
        ("AKIAIOSFODNN7EXAMPLE", "secret"),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
            "secret",
        ),
        ("xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx", "secret"),
    ],
)
def test_what_is_found(text: str, kind: str) -> None:
    redactor = PersonalRedactor()
    assert redactor.text(f"It is {text} here.") == f"It is [{kind} 1] here."
    assert redactor.found[kind] == 1


@pytest.mark.parametrize(
    "text",
    [
        "order 12345, no. 10482 of 2026-11-22T10:11:12Z for $1,200.00",
        "conv-support-cd7e649e and 123e4567-e89b-12d3-a456-426614174000",
        "https://shop.example/orders/12345/details",
        "The secret: of success is work, and the password is not told.",
        "refund-must-clarify-before-anything-2",
    ],
)
def test_what_stays(text: str) -> None:
    redactor = PersonalRedactor()
    assert redactor.text(text) == text
    assert not redactor.found


def test_a_password_behind_its_name_and_a_secret_of_the_gates_own() -> None:
    redactor = PersonalRedactor(["my-own-secret-key"])
    said = redactor.text("password: hunter2secret and my-own-secret-key")
    assert said == "password: [secret 1] and [secret removed]"


class _Record(Value):
    said: str
    calls: tuple[dict[str, str], ...]


def test_equal_values_get_equal_marks_everywhere_in_a_record() -> None:
    record = _Record(said="a@b.example, c@d.example", calls=({"to": "a@b.example"},))
    cleaned = PersonalRedactor().value(record)
    assert set(cleaned.said.split(", ")) == {"[email 1]", "[email 2]"}
    mark = cleaned.said.split(", ")[0]
    assert cleaned.calls == ({"to": mark},)
