"""A forge and a model provider with certificates of a company's own, trusted by one variable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.helpers.certificates import self_signed
from tests.helpers.command import gateval
from tests.helpers.github_shop import SAME, GitHubShop
from tests.helpers.providers import provider
from tests.helpers.runner import Job
from tests.helpers.shop import AGENT, build_shop
from tests.servers.model_server import reply
from tests.servers.tls_front import TlsFront

VARIABLE = "GATEVAL_CA_FILE"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return self_signed(tmp_path)


@pytest.fixture
def front(shop: GitHubShop, certificate: Path) -> Iterator[TlsFront]:
    with TlsFront(urlsplit(shop.server.url).port or 0, certificate) as front:
        yield front


def behind(job: Job, front: TlsFront) -> Job:
    """The same job on a GitHub that speaks TLS."""
    job.server = job.api = front.url
    return job


@pytest.mark.parametrize("given", ["a file", "text"])
def test_one_variable_is_enough_for_git_the_api_and_the_records(
    shop: GitHubShop, front: TlsFront, certificate: Path, given: str
) -> None:
    pull = shop.open_pull(SAME)
    value = str(certificate) if given == "a file" else certificate.read_text()
    ended = behind(shop.on_pull(pull), front).run_action(GATEVAL_CA_FILE=value)
    assert ended.code == 0, ended.errors + ended.log
    assert shop.conclusions(pull.head_sha) == ["success"]
    assert len(pull.comments) == 1
    assert "::warning::" not in ended.log


def test_without_it_the_certificate_is_named_and_nothing_is_tried_again(
    shop: GitHubShop, front: TlsFront
) -> None:
    pull = shop.open_pull(SAME)
    ended = behind(shop.on_pull(pull), front).run_action()
    assert ended.code == 3
    assert "certificate" in ended.errors
    assert VARIABLE in ended.errors
    assert front.greetings < 10, "five parts of the run ask, and none of them again"
    assert "waited" not in ended.errors


def test_a_file_in_the_workspace_is_refused(
    shop: GitHubShop, front: TlsFront, certificate: Path
) -> None:
    """The checkout is the pull request's: whoever wrote it would say which forge is the real one."""
    job = behind(shop.on_pull(shop.open_pull(SAME)), front)
    path = job.workspace / "ca.pem"
    path.write_bytes(certificate.read_bytes())
    link = job.folder / "elsewhere.pem"
    link.symlink_to(path)
    for name in (path, link):
        ended = job.run_action(GATEVAL_CA_FILE=str(name))
        assert ended.code == 2
        assert "a pull request can put its own" in ended.errors
    assert shop.repo.check_runs == {}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("/nowhere/ca.pem", "cannot be read: No such file"),
        ("/etc/hostname", "holds no certificate"),
        ("-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----", "holds no certificate"),
    ],
)
def test_what_is_no_authority_is_said(shop: GitHubShop, value: str, words: str) -> None:
    done = gateval(shop.work, "plan", **{VARIABLE: value})
    assert done.returncode == 2
    assert words in done.stderr


def test_model_calls_trust_it_too_and_are_not_repeated_without_it(
    certificate: Path, tmp_path: Path
) -> None:
    shop = build_shop(tmp_path / "models")
    shop.write("agents/support.yaml", AGENT.replace("scripted/support", "openai/gpt-5"))
    shop.commit()
    with (
        provider(lambda call: reply(call, "Hello")) as (server, environ),
        TlsFront(server.port, certificate) as front,
    ):
        environ["OPENAI_BASE_URL"] = f"{front.url}/v1"
        trusting = {**environ, VARIABLE: str(certificate)}
        done = gateval(shop, "run", "support-eval", "--fixture", "greets", **trusting)
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(server.calls) == 1
        before = front.greetings
        done = gateval(shop, "run", "support-eval", "--fixture", "greets", **environ)
        assert done.returncode == 3, done.stdout
        assert VARIABLE in " ".join(done.stdout.split())
        assert (len(server.calls), front.greetings) == (1, before + 1), "one try"


def test_nothing_of_it_stays_and_its_key_is_copied_nowhere(
    shop: GitHubShop, certificate: Path, tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = gateval(shop.work, "plan", TMPDIR=str(temporary), **{VARIABLE: str(certificate)})
    assert done.returncode == 0, done.stderr
    assert list(temporary.iterdir()) == []
