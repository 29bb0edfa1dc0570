"""From an event to a trigger: every event, and what hostile payloads come to."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateval.domain.forge.trigger import (
    ClaimSubject,
    CommentSubject,
    CommitSubject,
    EventName,
    Labeled,
    MergeGroupSubject,
    PullRequestSubject,
    Trigger,
    Trust,
    Verb,
)
from gateval.errors import UsageError
from gateval.formats.github.event import (
    PAYLOAD_LIMIT,
    PULL_REQUEST_TYPES,
    read_command,
    read_trigger,
)
from tests.helpers import payloads
from tests.helpers.payloads import BASE, HEAD, encode

ENVIRON = {
    "GITHUB_REPOSITORY": "acme/shop",
    "GITHUB_ACTOR": "ada",
    "GITHUB_SHA": "3" * 40,
    "GITHUB_REF": "refs/pull/7/merge",
}


def read(
    event: str, payload: dict[str, Any] | bytes, pull_request: int | None = None, /, **environ: str
) -> Trigger:
    data = payload if isinstance(payload, bytes) else encode(payload)
    return read_trigger(
        {**ENVIRON, "GITHUB_EVENT_NAME": event, **environ}, data, pull_request=pull_request
    )


@pytest.mark.parametrize("action", PULL_REQUEST_TYPES)
def test_a_pull_request_is_measured_at_its_head_not_at_the_merge_commit(action: str) -> None:
    trigger = read("pull_request", payloads.pull_request(action))
    assert trigger.event is EventName.PULL_REQUEST
    assert (trigger.action, trigger.trust) == (action, Trust.TRUSTED)
    assert trigger.subject == PullRequestSubject(number=7, head_sha=HEAD, base_ref="main")


def test_a_label_comes_with_the_head_it_was_set_on() -> None:
    payload = payloads.pull_request("labeled")
    payload["label"] = {"name": "force-eval-bypass"}
    subject = read("pull_request", payload).subject
    assert isinstance(subject, PullRequestSubject)
    assert subject.labeled == Labeled(name="force-eval-bypass", head_sha=HEAD, sender="ada")


def test_a_draft_is_told() -> None:
    subject = read("pull_request", payloads.pull_request(draft=True)).subject
    assert isinstance(subject, PullRequestSubject)
    assert subject.draft


@pytest.mark.parametrize(
    ("head_repository", "actor", "trust"),
    [
        ("acme/shop", "ada", Trust.TRUSTED),
        ("mallory/shop", "ada", Trust.FORK),
        ("acme/shop-2", "ada", Trust.FORK),
        (None, "ada", Trust.FORK),
        ("acme/shop", "dependabot[bot]", Trust.DEPENDABOT),
        ("mallory/shop", "dependabot[bot]", Trust.FORK),
    ],
)
def test_trust(head_repository: str | None, actor: str, trust: Trust) -> None:
    payload = payloads.pull_request(head_repository=head_repository)
    assert read("pull_request", payload, GITHUB_ACTOR=actor).trust is trust


def test_a_merge_group() -> None:
    trigger = read("merge_group", payloads.merge_group())
    assert trigger.subject == MergeGroupSubject(
        head_sha=HEAD, base_sha=BASE, base_ref="main", number=7
    )


def test_a_merge_group_on_a_branch_with_slashes() -> None:
    payload = payloads.merge_group()
    payload["merge_group"]["base_ref"] = "refs/heads/release/pr-1-2"
    payload["merge_group"]["head_ref"] = f"refs/heads/gh-readonly-queue/release/pr-1-2/pr-12-{BASE}"
    subject = read("merge_group", payload).subject
    assert isinstance(subject, MergeGroupSubject)
    assert (subject.base_ref, subject.number) == ("release/pr-1-2", 12)


def test_a_manual_run_for_a_pull_request_takes_the_live_head() -> None:
    trigger = read("workflow_dispatch", payloads.dispatch(), 7, GITHUB_REF="refs/heads/main")
    assert trigger.trust is Trust.TRUSTED
    assert trigger.subject == PullRequestSubject(number=7)


def test_a_manual_run_on_a_branch_compares_its_head_with_the_default_branch() -> None:
    trigger = read("workflow_dispatch", payloads.dispatch(), GITHUB_REF="refs/heads/change")
    assert trigger.subject == CommitSubject(head_sha="3" * 40, base_ref="main")


@pytest.mark.parametrize(
    ("ref", "before"), [("refs/heads/main", BASE), ("refs/heads/change", None)]
)
def test_a_push(ref: str, before: str | None) -> None:
    trigger = read("push", payloads.push(ref=ref))
    assert trigger.subject == CommitSubject(head_sha=HEAD, before=before, base_ref="main")


@pytest.mark.parametrize("owner", ["mallory/shop", "acme/shop", None])
def test_what_follows_another_run_is_a_claim_whoever_made_it(owner: str | None) -> None:
    trigger = read("workflow_run", payloads.workflow_run(head_repository=owner))
    assert trigger.trust is Trust.CLAIM
    assert trigger.subject == ClaimSubject(head_sha=HEAD, head_repository=owner, run=41)


@pytest.mark.parametrize(
    ("body", "verb", "argument"),
    [
        (f"/gateval rerun {HEAD}", Verb.RERUN, HEAD),
        (f"  /gateval   rerun\n{HEAD}\r\n", Verb.RERUN, HEAD),
        ("/gateval explain refund-asks-why", Verb.EXPLAIN, "refund-asks-why"),
        ("", Verb.NOTHING, ""),
        ("/gateval-bot rerun", Verb.NOTHING, ""),
        (f"I think\n/gateval rerun {HEAD}", Verb.NOTHING, ""),
        (f"> /gateval rerun {HEAD}", Verb.NOTHING, ""),
        ("/gateval", Verb.UNCLEAR, ""),
        ("/gateval rerun", Verb.UNCLEAR, ""),
        (f"/gateval rerun {HEAD[:12]}", Verb.UNCLEAR, ""),
        (f"/gateval rerun {'A' * 40}", Verb.UNCLEAR, ""),
        (f"/gateval rerun {HEAD} now", Verb.UNCLEAR, ""),
        ("/gateval rerun refs/heads/main", Verb.UNCLEAR, ""),
        ("/gateval explain ../x", Verb.UNCLEAR, ""),
        ("/gateval explain <b>", Verb.UNCLEAR, ""),
        ("/gateval explain " + "x" * 400, Verb.UNCLEAR, ""),
        ("/gateval bypass", Verb.UNCLEAR, ""),
    ],
)
def test_a_command_is_all_that_a_comment_says(body: str, verb: Verb, argument: str) -> None:
    assert read_command(body) == (verb, argument)


def test_a_comment_of_an_account_that_is_gone_is_nobodys() -> None:
    payload = {
        "action": "created",
        "issue": {"number": 7, "pull_request": {"url": "x"}},
        "comment": {"body": f"/gateval rerun {HEAD}", "user": None},
        "repository": payloads.repository(),
    }
    subject = read("issue_comment", payload).subject
    assert isinstance(subject, CommentSubject)
    assert (subject.person, subject.author, subject.verb) == (False, "", Verb.RERUN)


REFUSED: list[tuple[str, str, dict[str, Any], dict[str, str], str]] = [
    ("no event", "", payloads.push(), {}, "GITHUB_EVENT_NAME is not set"),
    ("unknown", "release", payloads.push(), {}, 'event "release"'),
    ("no comment", "issue_comment", payloads.push(), {}, "not what GitHub sends"),
    ("a schedule of no branch", "schedule", {"schedule": "1 1 * * 1"}, {}, "which is no branch"),
    ("target", "pull_request_target", payloads.pull_request(), {}, "pull_request_target"),
    ("locked", "pull_request", payloads.pull_request("locked"), {}, '"locked"'),
    ("destroyed", "merge_group", payloads.merge_group(action="destroyed"), {}, '"destroyed"'),
    (
        "dispatch on the default branch without a number",
        "workflow_dispatch",
        payloads.dispatch(),
        {"GITHUB_REF": "refs/heads/main"},
        "names no pull request",
    ),
    ("deleted branch", "push", payloads.push(after="0" * 40), {}, "no branch to measure"),
    ("tag", "push", payloads.push(ref="refs/tags/v1"), {}, "no branch to measure"),
    ("first push", "push", payloads.push(before="0" * 40), {}, "first push"),
    ("run of a push", "workflow_run", payloads.workflow_run(event="push"), {}, '"push"'),
    (
        "repository",
        "push",
        payloads.push(),
        {"GITHUB_REPOSITORY": "acme/shop\n::error::x"},
        "not owner/name",
    ),
    (
        "sha",
        "workflow_dispatch",
        payloads.dispatch(),
        {"GITHUB_REF": "refs/heads/x", "GITHUB_SHA": "--upload-pack=x"},
        "no commit",
    ),
]


@pytest.mark.parametrize(
    ("event", "payload", "environ", "sentence"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_refusals_are_usage_errors_with_a_next_step(
    event: str, payload: dict[str, Any], environ: dict[str, str], sentence: str
) -> None:
    with pytest.raises(UsageError) as refused:
        read(event, payload, **environ)
    assert sentence in refused.value.message
    assert refused.value.exit_code == 2
    assert refused.value.hint
    assert "\n" not in refused.value.message


@pytest.mark.parametrize("event", ["push", "merge_group", "workflow_run"])
def test_the_input_pull_request_where_it_has_no_meaning(event: str) -> None:
    with pytest.raises(UsageError, match="has no meaning"):
        read(event, {}, 7)


def test_the_input_pull_request_that_contradicts_the_event() -> None:
    assert read("pull_request", payloads.pull_request(), 7).trust is Trust.TRUSTED
    with pytest.raises(UsageError, match="says 8, but this run is about #7"):
        read("pull_request", payloads.pull_request(), 8)


HOSTILE_REFS = [
    "",
    "@",
    "-o",
    "--upload-pack=touch /tmp/x",
    "main\n::error::x",
    "main:refs/heads/evil",
    "+main",
    "a..b",
    "a b",
    "a~1",
    "a^{/x}",
    "a@{1}",
    "../main",
    "/main",
    "main/",
    "main.lock",
    "a//b",
    "a\\b",
    "*",
    "\x00",
    "x" * 300,
]


@pytest.mark.parametrize("ref", [ref for ref in HOSTILE_REFS if ref != "+main"])
def test_base_branches_that_git_could_take_for_something_else(ref: str) -> None:
    payload = payloads.pull_request()
    payload["pull_request"]["base"]["ref"] = ref
    with pytest.raises(UsageError, match="branch"):
        read("pull_request", payload)


@pytest.mark.parametrize("ref", HOSTILE_REFS)
def test_the_head_branch_may_be_called_anything_since_nobody_uses_its_name(ref: str) -> None:
    payload = payloads.pull_request()
    payload["pull_request"]["head"]["ref"] = ref
    assert read("pull_request", payload).subject == PullRequestSubject(
        number=7, head_sha=HEAD, base_ref="main"
    )


def without(path: str) -> dict[str, Any]:
    payload = payloads.pull_request()
    *way, last = path.split(".")
    inner = payload
    for part in way:
        inner = inner[part]
    del inner[last]
    return payload


def changed(path: str, value: Any) -> dict[str, Any]:
    payload = payloads.pull_request()
    *way, last = path.split(".")
    inner = payload
    for part in way:
        inner = inner[part]
    inner[last] = value
    return payload


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        without("action"),
        without("pull_request"),
        without("pull_request.number"),
        without("pull_request.head.sha"),
        without("pull_request.base.ref"),
        changed("pull_request.number", "7"),
        changed("pull_request.number", -7),
        changed("pull_request.number", 0),
        changed("pull_request.number", 10**30),
        changed("pull_request.number", True),
        changed("pull_request.head.sha", "HEAD"),
        changed("pull_request.head.sha", HEAD + "\n"),
        changed("pull_request.head.sha", HEAD.upper() + "g"),
        changed("pull_request.head.sha", "--all"),
        changed("pull_request.head.sha", [HEAD]),
        changed("pull_request.head.repo", "acme/shop"),
        changed("pull_request.head.repo.full_name", "../../etc"),
        changed("pull_request.draft", "no"),
        changed("action", "x" * 5000),
    ],
    ids=repr,
)
def test_payloads_that_github_does_not_send(payload: dict[str, Any] | bytes) -> None:
    with pytest.raises(UsageError) as refused:
        read("pull_request", payload)
    assert "event file" in refused.value.message
    assert len(refused.value.message) < 500


def test_a_payload_beyond_the_limit_is_not_parsed() -> None:
    with pytest.raises(UsageError, match="bytes"):
        read("pull_request", b" " * (PAYLOAD_LIMIT + 1))


def test_unknown_fields_are_ignored() -> None:
    payload = payloads.pull_request(brand_new={"deep": [1, 2, 3]})
    assert read("pull_request", {**payload, "installation": {"id": 1}}).trust is Trust.TRUSTED


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_nothing_but_a_trigger_or_a_usage_error_comes_out(value: Any) -> None:
    for path in ("pull_request.head", "pull_request.base", "pull_request", "action"):
        data = json.dumps(changed(path, value)).encode()
        with contextlib.suppress(UsageError):
            assert isinstance(read("pull_request", data), Trigger)


def test_a_trigger_survives_json() -> None:
    trigger = read("pull_request", payloads.pull_request())
    assert Trigger.model_validate_json(trigger.model_dump_json()) == trigger
