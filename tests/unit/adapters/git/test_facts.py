"""Addresses of remotes, in every form that git takes."""

from __future__ import annotations

import pytest

from gateval.adapters.git.repository import read_address


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/acme/shop",
        "https://github.com/acme/shop.git",
        "https://user:secret@github.com/acme/shop.git",
        "git@github.com:acme/shop.git",
        "ssh://git@github.com:22/acme/shop.git/",
        "git://github.com/acme/shop",
    ],
)
def test_addresses(url: str) -> None:
    assert read_address(url) == ("github.com", "acme/shop")


@pytest.mark.parametrize("url", ["", "/srv/git/shop.git", "https://github.com/shop", "file:///a/b"])
def test_other_addresses(url: str) -> None:
    assert read_address(url) is None
