"""What `seal` and `unseal` do: encrypt manifests, and open them or the evidence of a run."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gateval.adapters.age import IDENTITY_VARIABLE, new_identity, opener, seal
from gateval.adapters.folders import opened_folder, replace_file
from gateval.adapters.git import GitRepository, open_repository
from gateval.app.names import EVIDENCE_FILE
from gateval.app.registries import registries
from gateval.app.shared_rules import rules_here
from gateval.app.stored import read_limited
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.policy.gate_config import GATE_CONFIG_PATH
from gateval.domain.manifests.sealed import is_sealed, with_first_line, without_first_line
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Problem, sort_problems
from gateval.errors import EXIT_PASS, InvalidManifests, UsageError
from gateval.formats.native.manifests import read_manifests
from gateval.formats.parsed import Parsed
from gateval.formats.sealed import unfit
from gateval.pipeline.manifests.cache import ManifestCache
from gateval.pipeline.manifests.cases import fill_in
from gateval.pipeline.rules import read_rules
from gateval.ports.sealing import CannotOpen
from gateval.render.files.stage import RESULTS_LIMIT, load_results
from gateval.render.report.words.counts import count

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def seal_files(environ: Mapping[str, str], files: Sequence[Path]) -> int:
    """Write `FILE.age` beside each file of manifests, for those whom `policy.recipients` names.

    Raises `InvalidManifests` for what is wrong in them, `UsageError` where nobody is named or a
    file cannot be sealed; nothing is written then.
    """
    repository = open_repository(Path.cwd())
    config = repository.worktree(GATE_CONFIG_PATH)  # the plain files do not get into git's objects
    read = read_rules(repository, config, rules_here(environ))
    recipients = read.config.policy.recipients
    if not recipients:
        raise UsageError(
            "`policy.recipients` in .github/gateval.yml names nobody to seal for.",
            hint="Make a key with `gateval seal --new-key FILE`, and name the public one there.",
        )
    cache = ManifestCache(repository, registries(), read.config)
    sealed = [_sealed(environ, repository, cache, file, recipients) for file in files]
    for folder, name, content, said in sealed:
        with opened_folder(folder) as opened:
            replace_file(opened, name, content)
        print(f"wrote {said}, sealed for {count(len(recipients), 'recipient')}.")
    print("Next: take the plain files out of the repository. What was committed before stays in")
    print("git's history for everybody: write other fixtures in its place.")
    return EXIT_PASS


def new_key(file: Path) -> int:
    """Write a new key that only the own user may read, and print its public one."""
    private, public = new_identity()
    try:
        opened = os.open(file, _NEW, 0o600)
    except OSError as error:
        raise UsageError(f"{file} could not be written: {error.strerror}.") from None
    with os.fdopen(opened, "w", encoding="ascii") as stream:
        stream.write(f"# public key: {public}\n{private}\n")
    print(f"wrote {show_path(str(file))}. Never commit it: whoever has it reads what is sealed.")
    print(f"Its public key, for `policy.recipients`: {public}")
    print(f"Put the file's text into the secret {IDENTITY_VARIABLE} of the gate's environment.")
    return EXIT_PASS


def unseal_manifests(environ: Mapping[str, str], file: Path, output: Path | None) -> int:
    """Print the manifests in a sealed file, or write them to a new file."""
    content = without_first_line(_opened(environ, file, ManifestCache.FILE_LIMIT))
    if content.text is None:
        raise UsageError(f"{show_path(str(file))} was not sealed by `gateval seal`.")
    if output is None:
        with suppress(BrokenPipeError):
            sys.stdout.buffer.write(content.text)
            sys.stdout.buffer.flush()
    else:
        try:
            with os.fdopen(os.open(output, _NEW, 0o600), "wb") as stream:
                stream.write(content.text)
        except OSError as error:
            raise UsageError(f"{output} could not be written: {error.strerror}.") from None
        print(f"wrote {show_path(str(output))}, sealed as {show_path(content.path)}.")
    return EXIT_PASS


def unseal_results(environ: Mapping[str, str], stored: Path, view: str, output: Path | None) -> int:
    """Print one view of a run with its evidence, or write all of them into a new folder."""
    from gateval.adapters.clock import SystemClock
    from gateval.adapters.results_folder import create_results_folder
    from gateval.app.run.views import VIEWS, write_views
    from gateval.domain.decision.report import make_report
    from gateval.domain.results.sealing import unsealed

    file = stored / EVIDENCE_FILE if stored.is_dir() else stored
    shown = show_path(str(file))
    if not file.exists():
        raise UsageError(
            f"There is no {shown}: nothing of that run is sealed, or nobody could have read it."
        )
    report = make_report(unsealed(load_results(_opened(environ, file, RESULTS_LIMIT), shown)))
    if output is None:
        with suppress(BrokenPipeError):
            sys.stdout.write(VIEWS[view].render(report))
    else:
        folder = create_results_folder(Path.cwd(), SystemClock(), chosen=output)
        write_views(report, folder)
        print(f"Results, readable for everybody who gets them: {folder.path}", file=sys.stderr)
    return EXIT_PASS


def _sealed(
    environ: Mapping[str, str],
    repository: GitRepository,
    cache: ManifestCache,
    file: Path,
    recipients: Sequence[str],
) -> tuple[Path, str, bytes, str]:
    absolute = (Path.cwd() / file).resolve()
    if not absolute.is_relative_to(repository.root) or not file.name.endswith((".yaml", ".yml")):
        raise UsageError(f"{file} is no YAML file of this repository.")
    path = absolute.relative_to(repository.root).as_posix()
    text = read_limited(str(absolute), ManifestCache.FILE_LIMIT)
    found = read_manifests(path, text, cache.registries)
    held = [*found.manifests, *found.templates]
    problems = [*found.problems, *(wrong for one in held if (wrong := unfit(one)))]
    problems = problems or _problems_filled_in(found, cache)
    if problems:
        raise InvalidManifests(sort_problems(problems), hint="Mend them; nothing was written.")
    if not held:
        raise UsageError(f"{show_path(path)} holds no manifest that could be sealed.")
    target = f"{path}.age"
    salt = _salt_of(environ, repository.root / target, target) or secrets.token_hex(16)
    content = seal(with_first_line(target, salt, text), recipients)
    return absolute.parent, f"{absolute.name}.age", content, f"{show_path(target)}: {_held(found)}"


def _problems_filled_in(found: Parsed, cache: ManifestCache) -> list[Problem]:
    """What is wrong with its templates, as the Evals beside them fill them in."""
    evals = [one for one in found.manifests if isinstance(one, Eval)]
    filled = fill_in(found.templates, evals, {}, cache, all_read=False)
    fixtures = (*filled.fixtures, *(f for named in filled.by_eval.values() for f in named.values()))
    return [*filled.problems, *dict.fromkeys(wrong for one in fixtures if (wrong := unfit(one)))]


def _held(found: Parsed) -> str:
    evals = sum(one.kind != "EvalFixture" for one in found.manifests)
    fixtures = len(found.manifests) + len(found.templates) - evals
    return f"{count(evals, 'Eval')}, {count(fixtures, 'fixture')}"


def _salt_of(environ: Mapping[str, str], file: Path, path: str) -> str:
    """The salt of the file that is sealed again: what did not change must not look changed."""
    unseal = opener(environ)
    if unseal is None or not file.is_file():
        return ""
    with suppress(CannotOpen):
        content = without_first_line(unseal(read_limited(str(file), ManifestCache.FILE_LIMIT)))
        return content.salt if content.path == path else ""
    return ""


def _opened(environ: Mapping[str, str], file: Path, limit: int) -> bytes:
    unseal = opener(environ)
    if unseal is None:
        raise UsageError(
            f"{IDENTITY_VARIABLE} is not set, so nothing can be opened.",
            hint=f"For instance: {IDENTITY_VARIABLE}=$(cat key.txt) gateval unseal ...",
        )
    try:
        return unseal(read_limited(str(file), limit))
    except CannotOpen as error:
        raise UsageError(f"{show_path(str(file))}: {error}") from None


def is_manifest_file(file: Path) -> bool:
    """Whether a file is one of sealed manifests, by its name."""
    return is_sealed(file.name)
