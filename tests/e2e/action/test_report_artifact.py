"""The action uploads the page of a run before the comment is written, which leads to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.helpers.github_shop import WORSE, GitHubShop
from tests.servers.artifacts import ArtifactService, artifact_service, runtime_token

NOWHERE = "Nothing took the report to keep it: the last of the commands to copy writes it again."


@pytest.fixture
def service() -> Iterator[ArtifactService]:
    with artifact_service() as found:
        yield found


def test_the_comment_leads_to_the_page_at_the_fixture(
    shop: GitHubShop, service: ArtifactService
) -> None:
    pull = shop.open_pull(WORSE)
    job = shop.on_pull(pull)
    ended = job.run_action(inputs={}, **service.environ, GITHUB_JOB="evals")
    assert ended.code == 1, ended.errors
    ((name, page),) = service.kept.items()
    assert name == "gateval-report-evals-1.html"
    assert page == (ended.results / "report.html").read_bytes()
    (comment,) = pull.comments
    url = f"{shop.server.url}/acme/shop/actions/runs/{job.run}/artifacts/701"
    assert f"]({url}#support-eval/refund-asks-why)" in comment.body
    assert f"[Report with all traces]({url})" in comment.body
    assert (
        "(while GitHub keeps it; the last of the commands to copy writes it again)" in comment.body
    )
    told = ended.log + ended.errors + ended.summary + comment.body
    assert runtime_token() not in told
    assert "sig=abc" not in told


def test_each_attempt_has_a_page_of_its_own(shop: GitHubShop, service: ArtifactService) -> None:
    pull = shop.open_pull(WORSE)
    first = shop.on_pull(pull)
    assert first.run_action(inputs={}, **service.environ).code == 1
    second = shop.on_pull(pull)
    second.attempt = 2
    assert second.run_action(inputs={}, **service.environ).code == 1
    assert set(service.kept) == {"gateval-report-1.html", "gateval-report-2.html"}


def test_each_part_of_a_matrix_has_a_page_of_its_own(
    shop: GitHubShop, service: ArtifactService
) -> None:
    """Jobs of a matrix have one name, and a service that keeps one artifact of each name."""
    pull = shop.open_pull(WORSE)
    for inputs in ({}, {"agents": "support"}, {"evals": "support-eval"}):
        ended = shop.on_pull(pull).run_action(inputs=inputs, **service.environ, GITHUB_JOB="evals")
        assert ended.code == 1, ended.errors
    assert set(service.kept) == {
        "gateval-report-evals-1.html",
        "gateval-report-agents_support-evals-1.html",
        "gateval-report-evals_support-eval-evals-1.html",
    }


@pytest.mark.parametrize(
    ("fail", "tries", "said"),
    [
        ([503, 503], 5, ""),
        ([403], 1, "127.0.0.1 did not take the report: it answered 403."),
        ([500, 500, 500], 3, "127.0.0.1 did not take the report: it answered 500."),
        ([200], 1, "GitHub's service for artifacts did not take the report."),
    ],
)
def test_a_page_that_is_not_taken_changes_no_verdict(
    shop: GitHubShop, service: ArtifactService, fail: list[int], tries: int, said: str
) -> None:
    pull = shop.open_pull(WORSE)
    service.fail = list(fail)
    ended = shop.on_pull(pull).run_action(inputs={}, **service.environ)
    assert ended.code == 1, ended.errors
    assert len(service.asked) == tries
    (comment,) = pull.comments
    assert ("Report with all traces" in comment.body) is not bool(said)
    assert (NOWHERE in comment.body) is bool(said)
    assert (f"{said} It lies in the results folder." in ended.log) is bool(said)


@pytest.mark.drawn("status")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_token_of_the_job_follows_no_redirect(
    shop: GitHubShop, service: ArtifactService, status: int
) -> None:
    pull = shop.open_pull(WORSE)
    with artifact_service() as other:
        service.fail, service.elsewhere = [status], f"{other.url}/taken"
        ended = shop.on_pull(pull).run_action(inputs={}, **service.environ)
        assert other.asked == []
    assert ended.code == 1, ended.errors
    assert f"127.0.0.1 did not take the report: it answered {status}." in ended.log


@pytest.mark.drawn("token", "url", "said")
@pytest.mark.parametrize(
    ("token", "url", "said"),
    [
        ("no token", None, "names no place for artifacts"),
        ("e30.e30.x", None, "names no place for artifacts"),
        (None, "http://example.com/", "does not begin with https"),
        (None, "", ""),
    ],
)
def test_without_a_service_there_is_no_link(
    shop: GitHubShop, service: ArtifactService, token: str | None, url: str | None, said: str
) -> None:
    pull = shop.open_pull(WORSE)
    environ = dict(service.environ)
    environ["ACTIONS_RUNTIME_TOKEN"] = token or environ["ACTIONS_RUNTIME_TOKEN"]
    environ["ACTIONS_RESULTS_URL"] = environ["ACTIONS_RESULTS_URL"] if url is None else url
    ended = shop.on_pull(pull).run_action(inputs={}, **environ)
    assert ended.code == 1, ended.errors
    assert said in ended.log
    assert "Report with all traces" not in pull.comments[0].body
    assert NOWHERE in pull.comments[0].body
    assert service.asked == []


def test_a_page_that_is_not_written_is_not_uploaded(
    shop: GitHubShop, service: ArtifactService
) -> None:
    pull = shop.open_pull(WORSE)
    assert (
        shop.on_pull(pull).run_action(inputs={}, **service.environ, GATEVAL_VIEWS="junit").code == 1
    )
    assert service.asked == []
    assert NOWHERE not in pull.comments[0].body, "nobody asked for one"
