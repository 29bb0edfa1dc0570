"""A job records by the target branch's policy; the comment names the command that replays it."""

from __future__ import annotations

import html
import re
import shlex
from pathlib import Path

import pytest

from tests.e2e.action.test_said_right import ASKING
from tests.helpers.command import gateval
from tests.helpers.github_shop import WORSE, GitHubShop
from tests.helpers.providers import KEY, provider
from tests.servers.model_server import Answer, Call, reply


def respond(call: Call) -> Answer:
    return reply(call, "Hello!" if "ask for the reason" in call.raw.decode() else "Go away.")


@pytest.mark.parametrize("policy", ["upload", "never"])
def test_a_failure_of_a_job_is_replayed_at_home_without_keys(
    shop: GitHubShop, tmp_path: Path, policy: str
) -> None:
    asked = {name.replace("/", "__"): text for name, text in ASKING.items()}
    rules = {".github__gateval.yml": f"policy: {{recordings: {policy}}}\n"}
    shop.push_main(**asked, **rules)
    shop.commit(WORSE)
    shop.work.write(".github/gateval.yml", "policy: {recordings: upload}\n")
    shop.work.commit()
    shop.push()
    pull = shop.repo.open_pull("change", by=shop.ada)
    with provider(respond) as (_, environ):
        ended = shop.on_pull(pull).run_action(inputs={}, **environ)
    assert ended.code == 1, ended.log
    written = [one.read_text() for one in (ended.results / "recording").rglob("*.json")]
    body = html.unescape(pull.comments[0].body)
    if policy == "never":
        assert not written, "a change does not decide it"
        assert "--replay" not in body
        return
    assert len(written) > 2
    assert not any(KEY in text for text in written)
    (command,) = re.findall(r"gateval run --replay \S+ --offline", body)
    words = shlex.split(command)[1:]
    words[2] = str(ended.results)
    again = gateval(shop.work, *words, "--results", str(tmp_path / "again"))
    assert again.returncode == 1, again.stdout + again.stderr
    assert "greets passed before and fails now" in again.stdout
