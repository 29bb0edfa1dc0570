"""What `seal` and `unseal` do: make keys, encrypt manifests, open them and the evidence of a
run.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from gateval.adapters.age import (
    IDENTITY_VARIABLE,
    identities,
    keyed_digest,
    new_identity,
    opener,
    seal,
)
from gateval.adapters.folders import write_private, write_whole
from gateval.adapters.git.repository import GitRepository, open_repository
from gateval.app.readers import registries, rules_here
from gateval.app.run.views import EVIDENCE_FILE, RESULTS_FILE
from gateval.app.stored import read_limited
from gateval.domain.manifests.evaluation import Eval, with_first_line, without_first_line
from gateval.domain.manifests.gate_config import GATE_CONFIG_PATH
from gateval.domain.paths import show_path
from gateval.domain.problems import InvalidManifests, sort_problems
from gateval.domain.results.results import Results
from gateval.errors import EXIT_PASS, UsageError
from gateval.formats.base import Parsed
from gateval.formats.native.manifests import read_manifests
from gateval.formats.sealed import hardly_sealed
from gateval.pipeline.fixture_files import fill_in
from gateval.pipeline.manifests import ManifestCache
from gateval.pipeline.read import read_rules
from gateval.ports.repository import CannotOpen
from gateval.render.report.wording import count
from gateval.render.stage import RESULTS_LIMIT, load_results


def seal_files(environ: Mapping[str, str], files: Sequence[Path]) -> int:
    """Write `FILE.age` beside each file of manifests, for those whom `policy.recipients` names.

    Raises `InvalidManifests` for what is wrong in them, `UsageError` where nobody is named or a
    file cannot be sealed; nothing is written then.
    """
    repository = open_repository()
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
        write_whole(folder / name, content)
        print(f"wrote {said}, sealed for {count(len(recipients), 'recipient')}.")
    print("Next: take the plain files out of the repository. What was committed before stays in")
    print("git's history for everybody: write other fixtures in its place.")
    return EXIT_PASS


def new_key(file: Path) -> int:
    """Write a new key that only the own user may read, and print its public one."""
    private, public = new_identity()
    write_private(file, f"# public key: {public}\n{private}\n".encode())
    print(f"wrote {show_path(str(file))}. Never commit it: whoever has it reads what is sealed.")
    print(f"Its public key, for `policy.recipients`: {public}")
    print(f"Put the file's text into the secret {IDENTITY_VARIABLE} of the gate's environment.")
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
    if len(path.splitlines()) > 1:
        raise UsageError(f"{show_path(path)} has a line break in its name. Rename it first.")
    text = read_limited(str(absolute), ManifestCache.FILE_LIMIT)
    found = read_manifests(path, text, cache.registries)
    held = [*found.manifests, *found.templates]
    problems = [*found.problems, *(wrong for one in held if (wrong := hardly_sealed(one)))]
    if not problems:  # its templates are looked at as the Evals beside them fill them in
        evals = [one for one in found.manifests if isinstance(one, Eval)]
        filled = fill_in(found.templates, evals, {}, cache, all_read=False)
        several = [filled.fixtures, *(named.values() for named in filled.by_eval.values())]
        unfit = (hardly_sealed(one) for fixtures in several for one in fixtures)
        problems = [*filled.problems, *dict.fromkeys(wrong for wrong in unfit if wrong)]
    if problems:
        raise InvalidManifests(sort_problems(problems), hint="Mend them; nothing was written.")
    if not held:
        raise UsageError(f"{show_path(path)} holds no manifest that could be sealed.")
    target = f"{path}.age"
    salt = _salt_of(environ, repository, target) or secrets.token_hex(16)
    content = seal(with_first_line(target, salt, text), recipients)
    return absolute.parent, f"{absolute.name}.age", content, f"{show_path(target)}: {_held(found)}"


def _held(found: Parsed) -> str:
    evals = sum(one.kind != "EvalFixture" for one in found.manifests)
    fixtures = len(found.manifests) + len(found.templates) - evals
    return f"{count(evals, 'Eval')}, {count(fixtures, 'fixture')}"


def _salt_of(environ: Mapping[str, str], repository: GitRepository, path: str) -> str:
    """The salt of the file that is sealed again: what did not change must not look changed."""
    unseal, file, limit = opener(environ), repository.root / path, ManifestCache.FILE_LIMIT
    if file.is_file():
        before: bytes | None = read_limited(str(file), limit)
    else:  # as the last commit has it
        tree = repository.tree(repository.resolve("HEAD")) if repository.has_commit() else {}
        blobs = repository.blobs([tree[path].oid], limit=limit) if path in tree else {}
        before = next(iter(blobs.values()), None)
    if unseal is None or before is None:
        return ""
    with suppress(CannotOpen):
        content = without_first_line(unseal(before))
        return content.salt if content.path == path else ""
    return ""


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
        write_private(output, content.text)
        print(f"wrote {show_path(str(output))}, sealed as {show_path(content.path)}.")
    return EXIT_PASS


def unseal_results(environ: Mapping[str, str], stored: Path, view: str, output: Path | None) -> int:
    """Print one view of a run with its evidence, or write all of them into a new folder."""
    from gateval.adapters.machine import SystemClock
    from gateval.adapters.results_folder import create_results_folder
    from gateval.app.run.views import VIEWS, write_views
    from gateval.domain.decision.decision import make_report
    from gateval.render.view import ReportView

    file = stored / EVIDENCE_FILE if stored.is_dir() else stored
    shown = show_path(str(file))
    if not file.exists():
        raise UsageError(
            f"There is no {shown}: nothing of that run is sealed, or nobody could have read it."
        )
    report = make_report(opened_results(environ, file))
    if output is None:
        with suppress(BrokenPipeError):
            sys.stdout.writelines(VIEWS[view].pieces(ReportView(report)))
    else:
        folder = create_results_folder(Path.cwd(), SystemClock(), chosen=output)
        write_views(report, folder)
        print(f"Results, readable for everybody who gets them: {folder.path}", file=sys.stderr)
    return EXIT_PASS


def opened_results(environ: Mapping[str, str], file: Path) -> Results:
    """Return the whole results in a file of evidence, as of Evals that were never sealed.

    Raises `UsageError` where it cannot be opened, or is that of another run.
    """
    from gateval.domain.results.progress import unsealed

    whole = load_results(_opened(environ, file, RESULTS_LIMIT), show_path(str(file)))
    _refuse_another_run(environ, whole, file.with_name(RESULTS_FILE))
    return unsealed(whole)


def _refuse_another_run(environ: Mapping[str, str], whole: Results, beside: Path) -> None:
    """Anybody can seal for a public key: evidence has to fit the results that it lies beside, and
    where our own key has signed these, the digest tells.
    """
    from gateval.domain.decision.decision import make_report, publishable

    if not beside.exists():
        return
    shown = load_results(read_limited(str(beside), RESULTS_LIMIT), show_path(str(beside)))
    digests = {one.digest for one in shown.sealed if one.digest}
    made = [
        publishable(make_report(whole), partial(keyed_digest, key)) for key in identities(environ)
    ]
    ours = [
        one for one in made if {_key_of(o.digest) for o in one.sealed} & set(map(_key_of, digests))
    ]
    signed = not ours or any({o.digest for o in one.sealed} >= digests for one in ours)
    if not signed or _facts(shown) != _facts(made[0]):
        raise UsageError(
            f"The evidence is not of the run in {show_path(str(beside))}: one of the two was put "
            "in the place of another.",
            hint="Get both again, from the artifact of one run.",
        )


def _key_of(digest: str) -> str:
    return digest.partition("@")[2]


def _facts(results: Results) -> list[object]:
    """What both files of a run say alike."""
    trials = [(one.key, one.outcome, one.cause, one.score) for one in results.trials]
    sealed = [(one.eval, one.verdict, one.accepted) for one in results.sealed]
    return [results.info.run, results.info.started_at, results.plan.head, trials, sealed]


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
