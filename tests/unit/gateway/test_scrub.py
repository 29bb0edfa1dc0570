"""Keys out of texts."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from gateval.gateway.upstream.endpoints import read_upstreams
from gateval.gateway.upstream.sender import MARK, Scrubber, scrubber_for

KEY = "sk-canary/+0123456789"


@pytest.mark.parametrize(
    "form",
    [KEY, quote(KEY, safe=""), KEY.replace("/", "\\/"), base64.b64encode(KEY.encode()).decode()],
)
def test_every_form_of_a_key_goes(form: str) -> None:
    scrubber = Scrubber([KEY])
    assert scrubber.text(f"Bearer {form}!") == f"Bearer {MARK}!"
    assert scrubber.body(f"Bearer {form}!".encode()) == f"Bearer {MARK}!".encode()


def test_a_key_that_begins_another_does_not_save_its_end() -> None:
    assert Scrubber([KEY, f"{KEY}-and-more"]).text(f"{KEY}-and-more") == MARK


def test_words_that_stand_for_no_key_stay() -> None:
    assert Scrubber(["EMPTY", "none"]).text("EMPTY, none") == "EMPTY, none"


def test_all_keys_and_proxies_count() -> None:
    proxy = "http://user:password@proxy:3128"
    environ = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY * 2, "HTTPS_PROXY": proxy}
    scrubbed = scrubber_for(read_upstreams(environ)).text(f"{KEY} {KEY * 2} {proxy}")
    assert scrubbed == f"{MARK} {MARK} {MARK}"
