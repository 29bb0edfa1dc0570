"""The server catches a client that leaves GitHub's contract, and itself if it lies."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.integration.servers.github.conftest import Shop
from tests.servers.github.contract import DESCRIPTION
from tests.servers.github.routing import ROUTES
from tests.servers.github.server import GitHubServer
from tests.servers.github.state.issues import Comment
from tools.github_data import operations


def _ask(shop: Shop, method: str, path: str, body: Any = None) -> int:
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(shop.server.api_url + path, data, method=method)  # noqa: S310 loopback
    request.add_header("Authorization", f"Bearer {shop.token()}")
    try:
        with urllib.request.urlopen(request) as answer:  # noqa: S310 loopback
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def test_every_route_is_described_and_everything_described_is_served() -> None:
    paths = json.loads(DESCRIPTION.read_text(encoding="utf-8"))["paths"]
    described = {(path, method) for path, methods in paths.items() for method in methods}
    assert described == operations()
    assert len(described) == len(ROUTES)


@pytest.mark.parametrize(
    ("method", "path", "body", "told"),
    [
        ("POST", "issues/1/comments", {"body": 7}, 'request: at body: 7 is not of type "string"'),
        ("POST", "issues/1/comments", {"body": "x", "bdy": 1}, "'bdy' was unexpected"),
        ("POST", "check-runs", {"name": "x"}, '"head_sha" is a required property'),
        ("GET", "issues/1/comments?per-page=100", None, "no query parameter 'per-page'"),
        ("GET", "issues/1/comments?page=two", None, 'query page: at the top: "two" is not'),
        ("GET", "issues/1/reactions", None, "does not serve it"),
    ],
)
def test_a_wrong_request_is_written_down(
    shop: Shop, method: str, path: str, body: Any, told: str
) -> None:
    _ask(shop, method, f"/repos/acme/shop/{path}", body)
    assert len(shop.server.violations) == 1
    assert told in shop.server.violations[0]
    shop.server.violations.clear()


def test_a_wrong_bogus_conclusion_is_written_down(shop: Shop) -> None:
    body = {"name": "x", "head_sha": shop.pull.head_sha, "conclusion": "great"}
    _ask(shop, "POST", "/repos/acme/shop/check-runs", body)
    assert "at conclusion" in shop.server.violations[0]
    shop.server.violations.clear()


def test_a_server_that_lies_is_caught(shop: Shop) -> None:
    assert _ask(shop, "GET", "/repos/acme/shop/issues/1/comments") == 200
    shop.pull.comments.append(Comment(7, "x", shop.eve, "yesterday", "2026-01-05T10:00:00Z"))
    _ask(shop, "GET", "/repos/acme/shop/issues/1/comments")
    assert 'at 0/created_at: "yesterday" is not a "date-time"' in shop.server.violations[0]
    shop.server.violations.clear()
    shop.pull.comments[0].created_at = None  # type: ignore[assignment]
    _ask(shop, "GET", "/repos/acme/shop/issues/1/comments")
    assert "at 0/created_at: null" in shop.server.violations[0]
    shop.server.violations.clear()


def test_a_breach_fails_the_test_that_made_it_even_if_nobody_looked(shop: Shop) -> None:
    with (
        pytest.raises(AssertionError, match="does not serve it"),
        GitHubServer(shop.server.world) as other,
    ):
        _ask(Shop(other, shop.repo, shop.ada, shop.eve, shop.pull), "GET", "/nowhere")
