"""Whether the models that manifests name can be asked at all: their providers are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.fixtures.embedding import embedding_models
from gateval.domain.repository.place import Problem, nearest
from gateval.domain.text.quoting import quote


def agent_model_problems(agent: Agent, providers: frozenset[str]) -> Iterator[Problem]:
    """Yield the models of an Agent whose provider is none of `providers`."""
    for key, models in (("spec.models", agent.spec.models), ("spec.uses", agent.spec.uses)):
        for index, model in enumerate(models):
            path = f"{key}[{index}]"
            place = agent.places.get(path) or agent.places.get(key) or agent.place
            for message in _unknown(model, providers):
                yield Problem(place=place, path=path, message=message)


def judge_model_problems(evaluation: Eval, providers: frozenset[str]) -> Iterator[Problem]:
    """Yield the model of the Eval's judge if its provider is none of `providers`."""
    path = "spec.judge.model"
    place = evaluation.places.get(path) or evaluation.place
    for message in _unknown(evaluation.judge.model or "", providers):
        yield Problem(place=place, path=path, message=message)


def embedding_model_problems(
    fixtures: Iterable[Fixture], providers: frozenset[str]
) -> Iterator[Problem]:
    """Yield the models by which fixtures are measured whose provider is none of `providers`."""
    for model, spec in embedding_models(fixtures).items():
        for message in _unknown(model, providers):
            yield Problem(place=spec.place, message=message)


def _unknown(model: str, providers: frozenset[str]) -> Iterator[str]:
    provider, slash, _ = model.partition("/")
    if slash and provider not in providers:
        near = nearest(provider, sorted(providers)) or f" Known: {', '.join(sorted(providers))}."
        yield f"{quote(model)} names the unknown provider {quote(provider)}.{near}"
