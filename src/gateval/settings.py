"""The environment, read once into one frozen value. Never passed below `app`; no secret prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import SecretStr

from gateval.adapters.age import identities
from gateval.adapters.machine import is_plain
from gateval.candidates.isolation.isolation_level import ResourceLimits, read_limits
from gateval.candidates.isolation.visible_paths import RUNNER_FOLDER
from gateval.domain.manifests.gate_config import NOTIFY_PREFIX
from gateval.errors import CA_VARIABLE, UsageError
from gateval.gateway.rehearsal import Rehearsal
from gateval.gateway.upstream.endpoints import Upstream, read_upstreams
from gateval.safe.redaction import SHORTEST_SECRET, Redactor, secret_values, too_short

OUTAGE_VARIABLE = "GATEVAL_OUTAGE_SECONDS"
LONGEST_SECONDS = 86_400

FINDINGS = "GATEVAL_FINDINGS"
VIEWS_VARIABLE = "GATEVAL_VIEWS"
SEALED_BRANCHES = "GATEVAL_SEALED_BRANCHES"
LAYERS = "GATEVAL_LAYERS"
LAYERS_SIZE = "GATEVAL_LAYERS_MIB"
LAYERS_READ_ONLY = "GATEVAL_LAYERS_READ_ONLY"
LAYERS_KEY = "GATEVAL_LAYERS_KEY"
SHORTEST_KEY = 32
MOST_MIB = 1_000_000

RUNNER_SECRETS = (
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "INPUT_TOKEN",
    "INPUT_EXTENDS-TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
)
"""Variables by which a GitHub Actions runner hands out tokens."""


@dataclass(frozen=True)
class LayerCacheSettings:
    """Where set-ups are kept for later runs, empty for nowhere; in how many MiB; and whether this
    run may add to them.

    `key` signs them. `unsigned` says that those which are there are the default branch's, which no
    code of a change could touch in this job, so that they are read without a key.
    """

    folder: str = ""
    mib: int = 2_048
    writes: bool = True
    key: SecretStr | None = None
    unsigned: bool = False


@dataclass(frozen=True)
class Settings:
    """The settings in the environment. `upstreams` hold keys as secrets that do not show in `repr`.

    `outage_seconds` takes the place of the policy's `maxOutage`, where it is set. `findings` is
    the folder in which `check` remembers what it found; empty for that of git. `sealed_branches`
    are patterns of branches beside the default one: for changes into these, the action opens what
    is sealed. `views` are those that a run writes; empty for all. `rehearsal` sees what an agent
    asks that `init` tries.
    """

    upstreams: Mapping[str, Upstream]
    outage_seconds: float | None
    environ: Mapping[str, str]
    plain: bool
    limits: ResourceLimits = field(default_factory=ResourceLimits)
    layers: LayerCacheSettings = LayerCacheSettings()
    findings: str = ""
    sealed_branches: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    rehearsal: Rehearsal | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What may show nowhere: provider keys, proxies with passwords, tokens of the runner, keys
        to what is sealed, the key of kept layers, addresses of webhooks.
        """
        held = [value for one in self.upstreams.values() for value in (one.key, one.proxy)]
        held.append(self.layers.key)
        keys = [value.get_secret_value() for value in held if value is not None]
        runner = (self.environ[name] for name in RUNNER_SECRETS if self.environ.get(name))
        return (*keys, *runner, *identities(self.environ), *webhooks(self.environ))

    def secrets_beside(self, passed: Iterable[str]) -> tuple[str, ...]:
        """Return `secrets`, and those in variables that candidates see: they may say them."""
        return (*self.secrets, *secret_values(self.environ, passed))

    def redactor(self, passed: Iterable[str]) -> Redactor:
        """Return what takes those out of values."""
        return Redactor(self.secrets_beside(passed))

    def keeping_layers(self, *, allowed: bool, unsigned: bool) -> Settings:
        """Return the same settings, for a run that may add to the kept layers only if allowed, and
        may read `unsigned` ones.
        """
        writes = self.layers.writes and allowed
        layers = replace(self.layers, writes=writes, unsigned=unsigned)
        return replace(self, layers=layers)

    def shown_secrets(self, passed: Iterable[str]) -> str:
        """Return a sentence on secrets in `passed` that no text is cleaned of; empty for none."""
        short = too_short(self.environ, passed)
        if not short:
            return ""
        return (
            f"What {', '.join(short)} holds is a secret of fewer than {SHORTEST_SECRET} "
            "characters, and is not taken out of what is shown and stored. Make it longer."
        )

    @property
    def runner_folder(self) -> str:
        """Where the runner's own files are if the gate runs beside it; empty in a container."""
        return self.environ.get(RUNNER_FOLDER, "")

    @property
    def unattended(self) -> bool:
        """Whether this is a job of a CI system, where nobody reads a warning in time."""
        return self.environ.get("CI", "").strip().lower() not in ("", "0", "false")

    @property
    def in_ci(self) -> bool:
        """Whether this is a job of a CI system, whose machines others use, too."""
        return self.unattended or self.environ.get("GITHUB_ACTIONS", "") == "true"

    @property
    def ca_file(self) -> str:
        """The authorities to trust, the company's own among them; empty for the machine's."""
        return self.environ.get(CA_VARIABLE, "")

    def __repr__(self) -> str:
        return f"Settings(upstreams={sorted(self.upstreams)})"


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Read the settings. Raises `UsageError` that names the variable at fault."""
    upstreams = read_upstreams(environ)
    return Settings(
        upstreams=upstreams,
        outage_seconds=_seconds(environ, OUTAGE_VARIABLE),
        environ=dict(environ),
        plain=is_plain(environ),
        limits=read_limits(environ),
        layers=LayerCacheSettings(
            folder=environ.get(LAYERS, "").strip(),
            mib=_mib(environ),
            writes=not environ.get(LAYERS_READ_ONLY, "").strip(),
            key=_layers_key(environ, upstreams),
        ),
        findings=environ.get(FINDINGS, "").strip(),
        sealed_branches=_listed(environ, SEALED_BRANCHES),
        views=_listed(environ, VIEWS_VARIABLE),
    )


def webhooks(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the addresses of webhooks: whoever knows one can post there."""
    return tuple(
        value.strip() for name, value in environ.items() if name.startswith(NOTIFY_PREFIX) and value
    )


def _listed(environ: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(environ.get(name, "").replace(",", " ").split())


def _mib(environ: Mapping[str, str]) -> int:
    text = environ.get(LAYERS_SIZE, "").strip()
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if text and not 1 <= number <= MOST_MIB:
        raise UsageError(
            f"{LAYERS_SIZE} is no number of MiB from 1 to {MOST_MIB:,}.",
            hint="Leave it out for 2048.",
        )
    return number or LayerCacheSettings().mib


def _layers_key(environ: Mapping[str, str], upstreams: Mapping[str, Upstream]) -> SecretStr | None:
    key = environ.get(LAYERS_KEY, "").strip()
    if key in {one.key.get_secret_value() for one in upstreams.values() if one.key} - {""}:
        fault = "is the key of a model provider, which is known to more than the gate"
    elif 0 < len(key) < SHORTEST_KEY:
        fault = f"has fewer than {SHORTEST_KEY} characters, and could be guessed"
    else:
        return SecretStr(key) if key else None
    raise UsageError(f"{LAYERS_KEY} {fault}.", hint="Make one with `openssl rand -hex 32`.")


def _seconds(environ: Mapping[str, str], variable: str) -> float | None:
    text = environ.get(variable, "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 <= seconds <= LONGEST_SECONDS:
        raise UsageError(
            f"{variable} is no number of seconds from 0 to {LONGEST_SECONDS:,}.",
            hint="Set it to a number such as 180, or leave it out.",
        )
    return seconds
