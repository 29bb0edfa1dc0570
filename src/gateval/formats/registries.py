"""Registries of the higher rooms that the readers ask: assertion types, runtimes, providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from gateval.domain.base import JsonObject
from gateval.ports.sealing import Unseal
from gateval.ports.sources import ForeignFiles


@dataclass(frozen=True)
class Registries:
    """The registered assertion types and runtimes, each with the model of its own options.

    `assertions` maps a type to a model that checks the assertion as written, without the keys all
    assertions share (`type`, `weight`, `severity`, `axis`). `elsewhere` maps what other tools call
    an assertion to what to write here. `runtimes` does the same for a runtime without `type`,
    `cwd`, `setup`, `command` and `env`. `judged` names the assertion types that need a judge,
    `combinators` those that are made of others, which stand under their key `assertions`, and
    `weighing` those of them whose parts have a name and a weight.
    `scorers` maps the name of an experiment's scorer to the assertion that it stands for.
    `environ` is the environment of the gate; readers see of it what `policy.candidateEnv` names.
    `foreign` reads files of other repositories; without it there are none.
    `providers` are the model providers that can be asked, `scripted` among them, `required` for a
    runtime the shared keys that it cannot do without, `word_checks` what looks at each word of its
    `command` and raises `ValueError`. `unseal` opens sealed files; None without a key.

    The models see JSON in strict mode and only camelCase aliases, never field names; they may hold
    any validators. A `ValueError` raised in one becomes a problem with that text.
    """

    assertions: Mapping[str, type[BaseModel]]
    runtimes: Mapping[str, type[BaseModel]]
    judged: frozenset[str]
    providers: frozenset[str]
    combinators: frozenset[str] = frozenset()
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    foreign: ForeignFiles | None = None
    weighing: frozenset[str] = frozenset()
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    scorers: Mapping[str, JsonObject] = field(default_factory=dict)
    required: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    word_checks: Mapping[str, Callable[[str], None]] = field(default_factory=dict)
    unseal: Unseal | None = field(default=None, repr=False)
