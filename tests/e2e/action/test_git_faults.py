"""The way to git on the server is shaky: the job waits and goes on, or says what is true."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest

from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.tiers import some_always
from tests.servers.github.http import Reply

REFS, PACK = "/acme/shop/info/refs", "/acme/shop/git-upload-pack"


@pytest.mark.parametrize("path", [("GET", REFS), ("POST", PACK)], ids=["list", "pack"])
@pytest.mark.parametrize(
    "how",
    some_always(
        [
            {"reply": Reply(500, b"")},
            {"reply": Reply(502, b"")},
            {"reply": Reply(503, b"")},
            {"reply": Reply(200, b"half an ans")},
            {"reply": Reply(504, b"")},
            {"reply": Reply(429, b"")},
            {"drop": True},
            {"reply": Reply(408, b"")},
        ],
        4,
    ),
    ids=["500", "502", "503", "garbled", "504", "429", "reset", "408"],
)
def test_a_hiccup_of_git_is_waited_for(
    shop: GitHubShop, path: tuple[str, str], how: dict[str, Any]
) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    shop.server.faults.plant(*path, **how)
    ended = job.run_action()
    shop.server.violations.clear()  # after an answer that is none, git asks as it did long ago
    assert ended.code == 1, ended.errors
    assert shop.conclusions(pull.head_sha) == ["failure"]


def test_a_server_that_stays_away_is_given_up_with_true_words(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    shop.server.faults.plant("GET", REFS, reply=Reply(503, b""), times=1000)
    started = time.monotonic()
    ended = job.run_action()
    assert ended.code == 3
    assert time.monotonic() - started >= 15
    assert re.search(r"waited (1[5-9]|[2-9]\d) s", ended.errors)
    assert "fetch-depth" not in ended.errors
    assert shop.conclusions(pull.head_sha) == ["action_required"]


def test_what_no_second_try_mends_is_not_tried_again(shop: GitHubShop) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    refused = shop.server.faults.plant("GET", REFS, reply=Reply(403, b"no"), times=1000)
    ended = job.run_action()
    assert ended.code == 3
    assert refused.seen == 1
    assert "contents: read" in ended.errors
