"""A variable is a secret by its name, or by a password in its URL."""

from __future__ import annotations

import pytest

from gateval.safe.redaction import secret_values, too_short


@pytest.mark.parametrize(
    "name",
    ["CRM_TOKEN", "crm_token", "TOKEN", "APIKEY", "API_KEYS", "DB_PASS", "DB_PASSWORD_2", "SSH_PASSPHRASE",
     "SENTRY_DSN", "AUTH", "SHOP_AUTH_HEADER", "SESSION_COOKIE", "CLIENT_SECRET", "CREDENTIALS"],
)  # fmt: skip
def test_a_name_that_says_so(name: str) -> None:
    assert list(secret_values({name: "value"}, [name])) == ["value"]


@pytest.mark.parametrize(
    "name", ["SHOP_URL", "KEYBOARD", "TOKENIZER", "PASSENGERS", "AUTHOR", "LANG", "SECRETARY"]
)
def test_a_name_that_does_not(name: str) -> None:
    assert list(secret_values({name: "value"}, [name])) == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("postgres://post:pa55@db/post", ["postgres://post:pa55@db/post", "pa55"]),
        ("redis://:pa55@db", ["redis://:pa55@db", "pa55"]),
        ("db://me:p%40ss@db", ["db://me:p%40ss@db", "p%40ss", "p@ss"]),
        ("https://user@host/a:b@c", []),
        ("https://host:8080/a@b", []),
        ("", []),
    ],
)
def test_a_url_with_a_password(value: str, found: list[str]) -> None:
    assert list(secret_values({"SHOP_URL": value}, ["SHOP_URL"])) == found


def test_only_what_is_passed_on_and_set_counts() -> None:
    assert list(secret_values({"A_KEY": "a", "B_KEY": "b"}, ["B_KEY", "C_KEY"])) == ["b"]


def test_what_is_too_short_to_be_cut_out_is_named() -> None:
    environ = {
        "PIN_TOKEN": "1234567",
        "LONG_TOKEN": "12345678",
        "DB_URL": "postgres://shop:pw@db.example/shop",
        "EMPTY_KEY": "",
        "MODE": "fast",
    }
    assert too_short(environ, [*environ, "GONE_KEY"]) == ("PIN_TOKEN", "DB_URL")
