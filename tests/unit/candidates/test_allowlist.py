from __future__ import annotations

from pathlib import Path

import pytest

from gateval.candidates.environment import (
    MARKER,
    candidate_environment,
    instance_environment,
)
from gateval.candidates.program import PrivateFolders
from gateval.domain.manifests.agent import refusal, refusals
from gateval.gateway.upstream.endpoints import PREFIXES, PROVIDERS

RUNNER = {
    "PATH": "/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C",
    "TZ": "UTC",
    "SSL_CERT_FILE": "/ca.pem",
    "HOME": "/github/home",
    "OPENAI_API_KEY": "sk-canary",
    "GITHUB_TOKEN": "ghs-canary",
    "GITHUB_SHA": "abc",
    "ACTIONS_RUNTIME_TOKEN": "canary",
    "ACTIONS_ID_TOKEN_REQUEST_URL": "canary",
    "RUNNER_TEMP": "/tmp/canary",
    "INPUT_OPENAI-API-KEY": "sk-canary",
    "AWS_SECRET_ACCESS_KEY": "canary",
    "HTTPS_PROXY": "http://user:canary@proxy",
    "WEATHER_API_KEY": "weather",
    "RANDOM_THING": "canary",
}


def test_only_harmless_variables_pass_by_default() -> None:
    assert set(candidate_environment(RUNNER)) == {
        "PATH", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE",
    }  # fmt: skip


def test_the_policy_may_name_more() -> None:
    passed = candidate_environment(RUNNER, ["WEATHER_API_KEY", "GITHUB_SHA", "NOT_SET"])
    assert passed["WEATHER_API_KEY"] == "weather"
    assert passed["GITHUB_SHA"] == "abc"
    assert "NOT_SET" not in passed


@pytest.mark.parametrize(
    "name",
    [
        *(provider.key_variable for provider in PROVIDERS.values()),
        "OPENAI_ADMIN_KEY",
        "openai_api_key",
        "OPENAI_API_KEY_2",
        "ANTHROPIC_AUTH_TOKEN",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "GOOGLE_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        "AZURE_OPENAI_API_KEY",
        "HF_TOKEN",
        "AWS_BEARER_TOKEN_BEDROCK",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GH_ENTERPRISE_TOKEN",
        "GITHUB_OUTPUT",
        "GITHUB_ENV",
        "ACTIONS_RUNTIME_TOKEN",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
        "INPUT_TOKEN",
        "GATEVAL_CANDIDATE",
        "HOME",
        "TMPDIR",
        "INPUT_OPENAI-API-KEY",
        "A=B",
        "",
        "PATH\n",
    ],
)
def test_what_would_leak_is_refused_even_when_named(name: str) -> None:
    assert refusal(name, PREFIXES)
    assert candidate_environment({name: "canary"}, [name]) == {}


@pytest.mark.parametrize(
    "name",
    ["WEATHER_API_KEY", "OPENAI_MAX_TOKENS", "OPENAI_MODEL", "GOOGLE_MAPS_API_KEY", "RUNNER_OS",
     "GITHUB_SHA", "DATABASE_URL", "HFOO_TOKEN", "COMPANY_TOKEN"],
)  # fmt: skip
def test_what_belongs_to_the_agent_may_be_named(name: str) -> None:
    assert refusal(name, PREFIXES) is None


def test_each_refused_name_gets_a_sentence_that_says_what_to_do() -> None:
    told = refusals(["WEATHER_API_KEY", "OPENAI_API_KEY", "GITHUB_TOKEN"], PREFIXES)
    assert [sentence.partition(" ")[0] for sentence in told] == ["OPENAI_API_KEY", "GITHUB_TOKEN"]
    assert all("remove the name" in sentence for sentence in told)


def _instance(**changes: dict[str, str]) -> dict[str, str]:
    private = PrivateFolders(Path("/private/home"), Path("/private/tmp"))
    environ = changes.pop("environ", {})
    return instance_environment(environ, "bot-cand-1", private, **changes)


def test_an_instance_gets_what_it_needs_even_from_an_empty_environment() -> None:
    env = _instance()
    assert env["PATH"]
    assert (env["HOME"], env["TMPDIR"]) == ("/private/home", "/private/tmp")
    assert env[MARKER] == "bot-cand-1"


def test_the_door_wins_over_literals_and_literals_over_what_was_passed() -> None:
    env = _instance(
        environ={"LANG": "de_DE.UTF-8", "TZ": "UTC"},
        literals={"LANG": "C", "OPENAI_BASE_URL": "http://evil", "HOME": "/root", MARKER: "hidden"},
        door={"OPENAI_BASE_URL": "http://door"},
    )
    assert env["LANG"] == "C"
    assert env["TZ"] == "UTC"
    assert env["OPENAI_BASE_URL"] == "http://door"
    assert env["HOME"] == "/private/home"
    assert env[MARKER] == "bot-cand-1"


def test_a_key_that_slipped_through_is_stopped_at_the_last_moment() -> None:
    assert "OPENAI_API_KEY" not in _instance(environ={"OPENAI_API_KEY": "sk-canary"})


def test_sdks_do_not_phone_home_unless_the_manifest_or_the_policy_says_so() -> None:
    env = _instance()
    assert env["OPENAI_AGENTS_DISABLE_TRACING"] == "1"
    assert env["LANGSMITH_TRACING"] == "false"
    env = _instance(
        environ={"LANGSMITH_TRACING": "true"}, literals={"OPENAI_AGENTS_DISABLE_TRACING": "0"}
    )
    assert env["OPENAI_AGENTS_DISABLE_TRACING"] == "0"
    assert env["LANGSMITH_TRACING"] == "true"
