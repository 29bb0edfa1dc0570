"""What can be wrong with what an Agent runs beside its trials: services, and what names them."""

from __future__ import annotations

from collections.abc import Iterator

from gateval.domain.manifests.agent import Agent, RuntimeSpec
from gateval.domain.manifests.checks.files import problem_in
from gateval.domain.manifests.fixtures.services import (
    HOST,
    PORT,
    TOOLS_COMMAND,
    TOOLS_URL,
    references,
)
from gateval.domain.repository.place import Problem, nearest
from gateval.domain.text.quoting import quote


def beside_problems(agent: Agent, runtime: RuntimeSpec) -> Iterator[Problem]:
    """Yield what is wrong with services, and with texts that name them."""
    known: list[str] = []
    for index, service in enumerate(runtime.services):
        where = f"spec.runtime.services[{index}]"
        if service.name in known:
            message = f"The service {quote(service.name)} stands here twice."
            yield problem_in(agent, f"{where}.name", message)
        texts = [*enumerate(service.command)]
        yield from _unknown(agent, f"{where}.command", texts, known, later=True)
        yield from _unknown(agent, f"{where}.env", [*service.env.items()], known, later=True)
        known.append(service.name)
    for key, words in (
        ("command", runtime.command), ("before", runtime.before), ("after", runtime.after)
    ):  # fmt: skip
        yield from _unknown(agent, f"spec.runtime.{key}", [*enumerate(words)], known)
    yield from _unknown(agent, "spec.runtime.env", [*runtime.env.items()], known)
    for name, text in runtime.env.items():
        for word in (TOOLS_URL, TOOLS_COMMAND):
            if word in text and not any(tool.enabled for tool in agent.spec.tools):
                message = f"{quote(word)} leads to the tools in spec.tools, and there are none."
                yield problem_in(agent, f"spec.runtime.env.{name}", message)


def _unknown(
    agent: Agent,
    where: str,
    texts: list[tuple[int, str]] | list[tuple[str, str]],
    known: list[str],
    *,
    later: bool = False,
) -> Iterator[Problem]:
    for key, text in texts:
        path = f"{where}[{key}]" if isinstance(key, int) else f"{where}.{key}"
        for name, part in references(text):
            if name not in known:
                so_far = " before this one" if later else ""
                message = f"There is no service {quote(name)}{so_far}.{nearest(name, known)}"
                yield problem_in(agent, path, message)
            elif part not in {"", PORT, HOST}:
                message = f"A service has a `{PORT}` and a `{HOST}`, but no {quote(part)}."
                yield problem_in(agent, path, message)
