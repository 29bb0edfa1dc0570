"""Whatever a program makes of a secret on its way is known."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.safe.redaction import secret_forms

SECRET = 'pass word/+~é"\\tail'
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=14, max_size=40)


def hidden(text: str, *secrets: str) -> str:
    for form in secret_forms(secrets):
        text = text.replace(form, "#")
    return text


@pytest.mark.parametrize(
    "encoded",
    [
        SECRET,
        quote(SECRET, safe=""),
        quote(SECRET),
        quote_plus(SECRET),
        json.dumps({"k": SECRET}),
        json.dumps({"k": SECRET}, ensure_ascii=False),
        json.dumps(json.dumps({"k": SECRET})),
        json.dumps(SECRET).replace("/", "\\/"),
        SECRET.encode().hex(),
    ],
)
def test_text_forms(encoded: str) -> None:
    assert "tail" not in hidden(encoded, SECRET)
    assert SECRET.encode().hex()[8:] not in hidden(encoded, SECRET)


@given(before=st.binary(max_size=5), secret=TEXTS, after=st.binary(max_size=5))
def test_base64_wherever_the_secret_stands(before: bytes, secret: str, after: bytes) -> None:
    data = before + secret.encode() + after
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode(data).decode()
        assert len(hidden(encoded, secret)) < len(encoded) - len(secret.encode())


def test_short_words_are_no_secrets() -> None:
    assert secret_forms(["", "none", "EMPTY", "1234567"]) == ()


def test_eight_characters_are_a_secret() -> None:
    assert hidden("the password is hunter22", "hunter22") == "the password is #"
    encoded = base64.b64encode(b"shop:hunter22@db").decode()
    assert len(hidden(encoded, "hunter22")) < len(encoded) - 8


def test_lines_of_a_long_secret_count_too() -> None:
    pem = "-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA7\n-----END KEY-----"

    assert hidden("log: MIIEpAIBAAKCAQEA7", pem) == "log: #"


def test_longest_first() -> None:
    assert hidden("abcdefghijklmnop", "abcdefghijkl", "abcdefghijklmnop") == "#"
