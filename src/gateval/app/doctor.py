"""What `doctor` does: look at all that can be seen from here, and print one line for each."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from textwrap import wrap
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from gateval import __version__
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.adapters.machine import screen_of
from gateval.app.github_access import (
    NAME_IT,
    NOT_SEEN,
    TOKENS,
    access_to,
    guards_of,
    labels_missing,
)
from gateval.app.needs import (
    address_variables,
    key_variables,
    models_of,
    read_workflows,
    sealed_files,
)
from gateval.app.readers import registries
from gateval.app.run.isolation import KEYLESS, why_unused
from gateval.candidates.isolation.isolation_level import (
    build_isolation,
    look_around,
    read_limits,
    why_not_apart,
)
from gateval.candidates.isolation.supervisor.kernel import PORTS_SINCE
from gateval.candidates.isolation.visible_paths import passed_over
from gateval.domain.manifests.catalogue import Catalogue
from gateval.domain.manifests.gate_config import EgressPolicy
from gateval.domain.paths import show_path
from gateval.domain.planning.outside import asked_programs
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.setup.diagnosis import (
    LABEL_STYLES,
    Health,
    HealthCheck,
    about_audit_branch,
    about_history,
    about_inputs,
    about_isolation,
    about_keyless_providers,
    about_keys,
    about_local_providers,
    about_missing,
    about_namespaces,
    about_required_check,
    about_time,
    about_unreadable,
    about_workflows,
    counted,
    worst,
)
from gateval.domain.setup.gate_job import GateJob
from gateval.domain.setup.program_install import passed_over_sentence
from gateval.domain.setup.unmeasured import BranchProtection, RepositoryFacts, about_reach, play
from gateval.errors import (
    EXIT_FAILED,
    EXIT_NOT_EVALUATED,
    EXIT_PASS,
    ForgeError,
    ForgeRejected,
    GatevalError,
    MissingPermission,
    NotOnForge,
    UsageError,
)
from gateval.formats.github.action_inputs import NAMES, OF_THE_RUNNER
from gateval.gateway.peers import is_own, plain_address
from gateval.gateway.processes import may_be_unseen
from gateval.gateway.upstream.endpoints import (
    LOOPBACK,
    PROVIDERS,
    missing_keys,
    port_of,
    read_upstreams,
)
from gateval.pipeline.read import read_own, survey
from gateval.ports.storage import AUDIT_BRANCH
from gateval.publish.check import CHECK_NAME, shown_branch
from gateval.render.report.wording import count
from gateval.safe.sanitize import plain, plain_line
from gateval.settings import LAYERS, read_settings

if TYPE_CHECKING:
    from gateval.adapters.github.forge import GitHubGuards
    from gateval.adapters.github.transport import GitHubAccess


def examine(environ: Mapping[str, str], *, repository: str | None, fix: bool = False) -> int:
    """Print all findings; return 1 if one is a problem, else 0.

    With `fix`, labels that are missing on GitHub are made.
    """
    findings = list(_findings(environ, repository, fix=fix))
    show(findings, environ)
    counts = counted(findings)
    print(", ".join(f"{number} {health}" for health, number in counts.items() if number) + ".")
    return EXIT_FAILED if worst(findings) is Health.PROBLEM else EXIT_PASS


def show(findings: Sequence[HealthCheck], environ: Mapping[str, str]) -> None:
    """Print findings, one below the other."""
    width = max(len(finding.topic) for finding in findings)
    columns = screen_of(sys.stdout, environ).width if sys.stdout.isatty() else None
    for finding in findings:
        print(_line(finding, width, columns))


def _line(finding: HealthCheck, width: int, columns: int | None) -> str:
    """Return a finding on one or two lines, or for a terminal in paragraphs of `columns`."""
    head = f"{finding.health:<8} {finding.topic:<{width}}  "
    said = [plain_line(finding.seen, 1_000)]
    said += [plain_line(finding.todo, 500)] if finding.todo else []
    if columns:
        said = [line for text in said for line in wrap(text, columns - len(head))]
    return head + f"\n{' ' * len(head)}".join(said)


def _findings(environ: Mapping[str, str], name: str | None, *, fix: bool) -> Iterator[HealthCheck]:
    python = platform.python_version()
    yield HealthCheck(Health.OK, "gateval", f"{__version__}, on Python {python}.")
    try:
        opened = open_repository(environ=environ)
    except GatevalError as error:
        yield HealthCheck(Health.PROBLEM, "repository", error.message, error.hint)
        return
    facts = opened.facts()
    yield HealthCheck(Health.OK, "git", f"{facts.version}, in {show_path(str(opened.root))}.")
    yield from _isolation(environ)
    runner = environ.get("GITHUB_ACTIONS") == "true"
    yield from _history(opened, shallow=facts.shallow, runner=runner)
    snapshot = survey(opened, registries(), opened.worktree())
    yield _manifests(snapshot)
    yield from _keyless(opened, snapshot, environ)
    yield from _programs(environ, snapshot.catalogue)
    yield from _layers(opened, environ)
    jobs, unread = read_workflows(opened, snapshot)
    yield from map(about_unreadable, unread)
    yield from about_workflows(jobs)
    yield from about_inputs(jobs, (*NAMES, *map(str.lower, OF_THE_RUNNER)))
    origin = opened.facts().origin
    named = name or environ.get("GITHUB_REPOSITORY") or (origin[1] if origin else "")
    try:
        default = opened.default_branch() or ""
    except GatevalError:
        default = ""
    short = default.removeprefix("refs/remotes/origin/").removeprefix("refs/heads/")
    known = RepositoryFacts(named, short or None)._replace(sealed=sealed_files(snapshot))
    yield from about_reach(jobs, known)
    yield from about_time(jobs)
    yield from _keys(environ, snapshot.catalogue, jobs, runner=runner)

    yield from github_findings(environ, name, facts.origin, jobs, fix=fix)


def _keyless(
    repository: GitRepository, snapshot: Snapshot, environ: Mapping[str, str]
) -> Iterator[HealthCheck]:
    """Look for servers of models that take orders from an agent, too."""
    with suppress(GatevalError):  # told of where they are read
        egress = read_own(repository, snapshot.revision).policy.egress
        yield from about_keyless_providers(
            [
                one.provider
                for one in read_upstreams(environ).values()
                if one.base_url and one.key is None and PROVIDERS[one.provider].key_optional
                if egress is EgressPolicy.OPEN
                or (isinstance(egress, tuple) and port_of(one.base_url) in egress)
            ]
        )


def _history(repository: GitRepository, *, shallow: bool, runner: bool) -> Iterator[HealthCheck]:
    try:
        repository.resolve("HEAD")
        branch = repository.default_branch()
        joined = branch is not None and bool(repository.merge_bases("HEAD", branch))
    except GatevalError as error:
        yield HealthCheck(Health.PROBLEM, "history", error.message, error.hint)
        return
    shown = branch.removeprefix("refs/remotes/").removeprefix("refs/heads/") if branch else None
    yield about_history(shown, shallow=shallow, joined=joined, runner=runner)


def _manifests(snapshot: Snapshot) -> HealthCheck:
    catalogue = snapshot.catalogue
    parts = (
        ("Agent", catalogue.agents),
        ("Eval", catalogue.evals),
        ("fixture", catalogue.fixtures),
    )
    seen = ", ".join(count(len(found), noun) for noun, found in parts)
    if snapshot.problems:
        seen += f", {count(len(snapshot.problems), 'problem')}."
        return HealthCheck(Health.PROBLEM, "manifests", seen, "See them all: gateval validate")
    if not catalogue.evals:
        todo = "Write the first with `gateval init`."
        return HealthCheck(Health.PROBLEM, "manifests", f"{seen}: nothing to evaluate.", todo)
    shut = f"; {count(len(snapshot.locked), 'sealed file')} not opened" if snapshot.locked else ""
    return HealthCheck(Health.OK, "manifests", f"{seen}, all valid{shut}.")


def _means_here(host: str) -> bool:
    """Whether a host is this machine as written; other names are looked up when a run begins."""
    address = plain_address(host)
    return host in LOOPBACK or (address is not None and is_own(address))


def _isolation(environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    try:
        isolation_level = build_isolation(look_around(), read_limits(environ))
        upstreams = read_upstreams(environ).values()
    except GatevalError as error:
        yield HealthCheck(Health.PROBLEM, "isolation", error.message, error.hint)
        return
    yield about_isolation(isolation_level.text, isolation_level.not_promised)
    yield about_namespaces(why_not_apart(isolation_level))
    here = [(one.provider, urlsplit(one.base_url).hostname or "") for one in upstreams]
    yield from about_local_providers(
        [(name, host) for name, host in here if _means_here(host)],
        told=isolation_level.supervised
        and (bool(isolation_level.users) or not may_be_unseen(os.getpid())),
        held=isolation_level.landlock >= PORTS_SINCE,
    )


def _programs(environ: Mapping[str, str], catalogue: Catalogue) -> Iterator[HealthCheck]:
    """Look for programs that candidates do not find where the gate finds them."""
    try:
        isolation_level = build_isolation(look_around(), read_limits(environ))
    except GatevalError:
        return  # told of with the isolation
    names = {
        name for one in catalogue.agents for _, name in asked_programs(one.spec.runtime) if name
    }
    for name in sorted(names) if isolation_level.users else ():
        found = passed_over(name, environ.get("PATH", "")) if "/" not in name else None
        if found is not None:
            said, todo = passed_over_sentence(name, *found).split(". ", 1)
            yield HealthCheck(Health.PROBLEM, "programs", f"{said}.", todo)


def _layers(repository: GitRepository, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Look at the folder of kept layers, where the environment names one."""
    folder = environ.get(LAYERS, "").strip()
    if not folder:
        return
    try:
        settings = read_settings(environ)
        seen = why_unused(repository, settings)
    except GatevalError as error:
        yield HealthCheck(Health.PROBLEM, "layers", error.message, error.hint)
        return
    if seen == KEYLESS:
        yield HealthCheck(Health.WARNING, "layers", seen)
        return
    if seen:
        todo = "Name a folder that is yours alone, such as ~/.cache/gateval-layers."
        yield HealthCheck(Health.PROBLEM, "layers", seen, todo)
        return
    yield HealthCheck(Health.OK, "layers", f"{show_path(folder)} is nobody else's to write.")


def _keys(
    environ: Mapping[str, str],
    catalogue: Catalogue,
    jobs: tuple[GateJob, ...],
    *,
    runner: bool,
) -> list[HealthCheck]:
    models = models_of(catalogue)
    try:
        complaints = missing_keys(sorted(models), read_upstreams(environ))
    except GatevalError as error:
        return [HealthCheck(Health.PROBLEM, "keys here", error.message, error.hint)]
    keys, addresses = key_variables(models), address_variables(models)
    return about_keys(complaints, keys, addresses, jobs, runner=runner)


UNAUTHORIZED = 401


def github_findings(
    environ: Mapping[str, str],
    name: str | None,
    origin: tuple[str, str] | None,
    jobs: Sequence[GateJob],
    *,
    fix: bool,
) -> Iterator[HealthCheck]:
    """Ask GitHub about one repository; without its name or a token, say what cannot be seen.

    With `fix`, the gate's labels are made where they are missing.
    """
    access = access_to(environ, name, origin)
    if isinstance(access, HealthCheck):
        yield access
        return
    guards = guards_of(access)
    if refused := _refused(guards):
        yield refused
        return
    yield from _token(guards, access.repository)
    try:
        branch = guards.default_branch()
        yield about_required_check(branch, guards.required_checks(branch), jobs)
    except ForgeError as error:
        seen = f"Not seen which checks are required. {error.message}"
        yield HealthCheck(Health.UNKNOWN, "required", seen, error.hint)
    yield from _queue(guards, jobs)
    yield from _labels(access, fix=fix)
    try:
        yield about_audit_branch(AUDIT_BRANCH, guards.rules(AUDIT_BRANCH))
    except ForgeError as error:
        seen = f"Not seen what protects {AUDIT_BRANCH}. {error.message}"
        yield HealthCheck(Health.UNKNOWN, "audit log", seen, error.hint)


def _labels(access: GitHubAccess, *, fix: bool) -> Iterator[HealthCheck]:
    labels, made = guards_of(access), ()
    try:
        missing = labels_missing(labels)
        if fix:
            for label in missing:
                labels.make_label(label, **LABEL_STYLES[label]._asdict())
            missing, made = (), missing
    except ForgeError as error:
        yield HealthCheck(Health.UNKNOWN, "labels", error.message, error.hint)
        return
    yield about_missing(missing, made, access.repository)


def _refused(guards: GitHubGuards) -> HealthCheck | None:
    """Return why nothing more can be asked: GitHub does not know the token."""
    try:
        guards.default_branch()
    except ForgeRejected as error:
        if error.status == UNAUTHORIZED:
            todo = f"Set {' or '.join(TOKENS[:2])} to one that is valid: {NOT_SEEN}."
            return HealthCheck(Health.PROBLEM, "token", error.message, todo)
    except ForgeError:
        return None  # each line says it for itself
    return None


def _queue(guards: GitHubGuards, jobs: Sequence[GateJob]) -> Iterator[HealthCheck]:
    try:
        branch = guards.default_branch()
        known = RepositoryFacts(branch=branch, queue="merge_queue" in guards.rules(branch))
    except ForgeError:
        return  # the line on the required check says why
    yield from (one for one in about_reach(jobs, known) if one.topic == "queue")


def _token(guards: GitHubGuards, name: str) -> Iterator[HealthCheck]:
    asked: dict[str, Callable[[], object]] = {
        "contents": guards.default_branch,
        "pull-requests": guards.read_pull_requests,
        "checks": lambda: guards.read_check_runs(guards.default_branch()),
    }
    denied = False
    for topic, ask in asked.items():
        try:
            ask()
        except (MissingPermission, NotOnForge) as error:
            missing = isinstance(error, NotOnForge)
            todo = error.hint or (NAME_IT if missing else "")
            yield HealthCheck(Health.PROBLEM, "token", error.message, todo)
        except GatevalError as error:
            yield HealthCheck(Health.UNKNOWN, "token", f"{topic}: {error.message}", error.hint)
        else:
            continue
        denied = True
    if not denied:
        seen = f"The token reads {name}, its pull requests and its check runs."
        yield HealthCheck(Health.OK, "token", seen)
    seen = "Whether the token may write comments and check runs shows only when it does."
    yield HealthCheck(
        Health.UNKNOWN, "token", seen, "The line on permissions says what the job asks for."
    )


def play_pull_request(environ: Mapping[str, str], number: int, *, repository: str | None) -> int:
    """Print the way of a pull request and what comes of it; return the exit code.

    The workflows are read as they are here. Raises `GatevalError` where GitHub cannot be asked.
    """
    opened = open_repository(environ=environ)
    access = access_to(environ, repository, opened.facts().origin)
    if isinstance(access, HealthCheck):
        raise UsageError(access.seen, hint=access.todo)
    guards = guards_of(access)
    pull = guards.played_pull(number)
    jobs, unread = read_workflows(opened, survey(opened, registries(), opened.worktree()))
    check = CHECK_NAME
    if pull.base != guards.default_branch():
        check = f"{CHECK_NAME} (into {shown_branch(pull.base)})"
    queue = "merge_queue" in guards.rules(pull.base)
    branch = BranchProtection(guards.required_checks(pull.base), queue=queue, check=check)
    played = play(pull, jobs, branch, access.repository)
    show([*map(about_unreadable, unread), *played.findings], environ)
    print(plain(played.why, 4_000))
    if played.through is None:
        return EXIT_NOT_EVALUATED
    return EXIT_PASS if played.through else EXIT_FAILED
