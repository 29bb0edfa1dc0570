"""What stands beside an Agent's trials: addresses in texts, and mistakes that `validate` names."""

from __future__ import annotations

import pytest

from gateval.domain.manifests.catalogue_checks import check_catalogue
from gateval.domain.manifests.playground import ServiceSpec, filled, references
from tests.helpers.manifests import REGISTRIES, catalogue_of, parse

AT = {"db": ("127.0.0.1", 5432), "six": ("::1", 80)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain {port} {home}", "plain {port} {home}"),
        ("{services.db.port}", "5432"),
        ("{services.db.host}", "127.0.0.1"),
        ("redis://{services.db}/0", "redis://127.0.0.1:5432/0"),
        ("http://{services.six}/x", "http://[::1]:80/x"),
        ("{services.six.host}", "::1"),
        ("{services.gone.port}", "{services.gone.port}"),
        ("{services.{services.db.port}.port}", "{services.5432.port}"),
    ],
)
def test_addresses_are_filled_once(text: str, expected: str) -> None:
    assert filled(text, AT) == expected


def test_references_are_found() -> None:
    assert list(references("a {services.db} {services.x.y} {port}")) == [("db", ""), ("x", "y")]


def test_the_variable_of_a_service() -> None:
    service = ServiceSpec(name="order-db", command=("db",))
    assert service.variable == "GATEVAL_SERVICE_ORDER_DB"


MANIFEST = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: bot}
spec:
  models: [openai/gpt-5]
  runtime:
    type: command
    command: [bot]
    services:
      - {name: db, command: [db, "{port}"]}
"""


def problems(text: str) -> list[str]:
    parsed = parse(text, "bot.yaml")
    assert not parsed.problems, parsed.problems
    return [str(one) for one in check_catalogue(catalogue_of([parsed]), {}, REGISTRIES.providers)]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("    before: [reset, '{services.db.port}']\n", []),
        ("    before: [reset, '{services.dbb}']\n", ['11:21: spec.runtime.before[1]: There is no service "dbb". Did you mean "db"?']),
        ("    env: {URL: 'x{services.db.prot}'}\n", ['11:11: spec.runtime.env.URL: A service has a `port` and a `host`, but no "prot".']),
        ("    env: {CRM_URL: '{mcp.url}'}\n", ['11:11: spec.runtime.env.CRM_URL: "{mcp.url}" leads to the tools in spec.tools, and there are none.']),
        ("    env: {CRM_URL: '{mcp.url}'}\n  tools: [{name: find}]\n", []),
        ("      - {name: db, command: [x]}\n", ['11:10: spec.runtime.services[1].name: The service "db" stands here twice.']),
        ("      - {name: web, command: [x, '{services.web.port}']}\n", ['11:34: spec.runtime.services[1].command[1]: There is no service "web" before this one.']),
        ("      - {name: web, command: [x], env: {A: '{services.db}'}}\n", []),
    ],
)  # fmt: skip
def test_what_names_services_is_checked(more: str, expected: list[str]) -> None:
    assert problems(MANIFEST + more) == [f"bot.yaml:{one}" for one in expected]


@pytest.mark.parametrize(
    "line", ["before: [x]", "after: [x]", "services: [{name: d, command: [x]}]"]
)
def test_a_declarative_agent_has_nothing_beside_it(line: str) -> None:
    text = MANIFEST.partition("    type:")[0] + f"    {line}\n"
    (found,) = problems(text)
    assert "A runtime of type model starts no process." in found
