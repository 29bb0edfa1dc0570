"""What readers of manifests ask for: registries of the higher rooms, and formats whose files
refer to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from pydantic import BaseModel, JsonValue

from gateval.domain.base import JsonObject
from gateval.domain.manifests.agent import Agent
from gateval.domain.manifests.catalogue import Broken, Contained
from gateval.domain.manifests.evaluation import Calibration, Eval
from gateval.domain.manifests.fixture import Fixture
from gateval.domain.manifests.gate_config import AgentStart
from gateval.domain.problems import Problem, SourceLocation
from gateval.domain.strict_json import string_of
from gateval.domain.text import quote
from gateval.domain.tree import Tree
from gateval.formats.yaml_document import Document, DocumentPath
from gateval.ports.repository import ForeignFiles, Unseal

NATIVE_VERSION = "gateval/v1"


PAI_VERSION = "pai.io/v1"


API_VERSIONS = (NATIVE_VERSION, PAI_VERSION)
"""The known apiVersions. All mean the same to us."""


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
    `command` and raises `ValueError`, `bridges` the bridge that starts its agents. `unseal` opens
    sealed files; None without a key.

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
    bridges: Mapping[str, str] = field(default_factory=dict)
    unseal: Unseal | None = field(default=None, repr=False)


TEXT_LIMIT = 256 * 1024
"""Bytes of a text file that a case names."""


class Pending(NamedTuple):
    """A file that was recognised; `document` is what it holds, if it is one of YAML.

    `format` is the name of the format that recognised it, and that puts it together with others.
    `problems` are why nothing of it can be read.
    """

    path: str
    document: Document | None
    format: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def kind(self) -> str:
        """The `kind` that its document says it is of; empty for none."""
        return string_of(self.document.data if self.document else None, "kind")


def no_foreign(url: str) -> bytes:
    """Refuse every file of another repository."""
    raise ValueError(f"{quote(url)} is a file of another repository. Copy it into this one.")


@dataclass(frozen=True)
class GatheringContext:
    """A revision as such a format sees it.

    `content` gives the bytes of a tracked file, None for one that is too large to be read.
    `foreign` gives those of the file at a URL, as the revision pins it; it raises `ValueError` with
    a sentence. `variables` are those of the environment that `policy.candidateEnv` names. `wanted`
    tells at which paths manifests are looked for, `starts` how the agents of other formats start.
    """

    tree: Tree
    content: Callable[[str], bytes | None]
    registries: Registries
    foreign: Callable[[str], bytes] = no_foreign
    variables: Mapping[str, str] = field(default_factory=dict)
    wanted: Callable[[str], bool] = lambda _path: True
    starts: tuple[AgentStart, ...] = ()


class Gathered(NamedTuple):
    """What the files say together. No candidate gets the files in `own`: they say what is asked.

    `passed_over` are files that look like some of the format, and that nobody reads. What is in
    `contained` is among `problems`, too. `found` are Agents that count only where an Eval targets
    them, `unusable` those of them that cannot be started, and why. `meanings` are digests by the
    path of a file that counts by its meaning.
    """

    agents: tuple[Agent, ...] = ()
    evals: tuple[Eval, ...] = ()
    fixtures: tuple[Fixture, ...] = ()
    calibrations: tuple[Calibration, ...] = ()
    problems: tuple[Problem, ...] = ()
    broken: tuple[Broken, ...] = ()
    own: frozenset[str] = frozenset()
    passed_over: tuple[Problem, ...] = ()
    contained: tuple[Contained, ...] = ()
    found: tuple[Agent, ...] = ()
    unusable: tuple[Broken, ...] = ()
    meanings: tuple[tuple[str, str], ...] = ()

    def beside(self, other: Gathered) -> Gathered:
        """Return what both say."""
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return Gathered._make(
            one | more if isinstance(one, frozenset) else (*one, *more) for one, more in pairs
        )


Manifest: TypeAlias = Agent | Eval | Fixture | Calibration


@dataclass(frozen=True)
class Source:
    """One document to read: the tracked path, the document, and what may stand in it.

    `may_be_template` says that the file has texts to fill in, or cases to fill them with.
    """

    path: str
    document: Document
    registries: Registries
    may_be_template: bool = False

    @property
    def body(self) -> JsonValue:
        """The document without the `status` that exports of pai.io/v1 carry: it asks nothing."""
        data = self.document.data
        if isinstance(data, dict) and data.get("apiVersion") == PAI_VERSION:
            return {key: value for key, value in data.items() if key != "status"}
        return data


@dataclass(frozen=True, eq=False)
class Template:
    """The manifest of a fixture that is filled in, for each case or for each Eval's `vars`.

    `file` is the path of the cases from the repository's root; None if there are none. `texts` are
    the texts with `{{ … }}` by where they stand in the document, `asked` the vars that an Eval must
    give, `named` all that are named.
    """

    source: Source
    name: str
    labels: dict[str, str]
    agent: str
    file: str | None
    place: SourceLocation
    file_place: SourceLocation
    texts: Mapping[DocumentPath, str]
    asked: frozenset[str] = frozenset()
    named: frozenset[str] = frozenset()


class Parsed(NamedTuple):
    """The content of a file: its manifests, and all its problems in order of place.

    `broken` holds what is there but cannot be used, as far as it says what it is; `templates` are
    fixtures that have to be filled in, `pending` what other files complete. With `left`, documents
    of others stand beside its own. A `locked` file is sealed, and there is no key; `salt` goes into
    the digests of what was sealed.
    """

    manifests: tuple[Manifest, ...]
    problems: tuple[Problem, ...]
    broken: tuple[Broken, ...] = ()
    templates: tuple[Template, ...] = ()
    pending: tuple[Pending, ...] = ()
    left: bool = False
    locked: bool = False
    salt: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing in it is known to be ours, well or badly written."""
        return not (self.manifests or self.templates or self.problems or self.locked)

    @property
    def nothing(self) -> bool:
        """Whether nothing of it is of the format that read it."""
        return self.empty and not self.pending

    def beside(self, other: Parsed) -> Parsed:
        """Return what two formats read in one file, each problem once."""
        return Parsed(
            (*self.manifests, *other.manifests),
            tuple(dict.fromkeys((*self.problems, *other.problems))),
            (*self.broken, *other.broken),
            (*self.templates, *other.templates),
            (*self.pending, *other.pending),
            self.left and other.nothing,
        )
