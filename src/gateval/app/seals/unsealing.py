"""What `unseal` does: opens sealed manifests, and the evidence of a run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from gateval.adapters.age import IDENTITY_VARIABLE, identities, keyed_digest, opener
from gateval.adapters.new_files import write_private
from gateval.app.names import EVIDENCE_FILE, RESULTS_FILE
from gateval.app.stored import read_limited
from gateval.domain.manifests.sealed import is_sealed, without_first_line
from gateval.domain.repository.paths import show_path
from gateval.domain.results.results import Results
from gateval.errors import EXIT_PASS, UsageError
from gateval.pipeline.manifests.cache import ManifestCache
from gateval.ports.sealing import CannotOpen
from gateval.render.files.stage import RESULTS_LIMIT, load_results


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
    from gateval.adapters.clock import SystemClock
    from gateval.adapters.results_folder import create_results_folder
    from gateval.app.run.views import VIEWS, write_views
    from gateval.domain.decision.report import make_report
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
            sys.stdout.write(VIEWS[view].render(ReportView(report)))
    else:
        folder = create_results_folder(Path.cwd(), SystemClock(), chosen=output)
        write_views(report, folder)
        print(f"Results, readable for everybody who gets them: {folder.path}", file=sys.stderr)
    return EXIT_PASS


def opened_results(environ: Mapping[str, str], file: Path) -> Results:
    """Return the whole results in a file of evidence, as of Evals that were never sealed.

    Raises `UsageError` where it cannot be opened, or is that of another run.
    """
    from gateval.domain.results.sealing import unsealed

    whole = load_results(_opened(environ, file, RESULTS_LIMIT), show_path(str(file)))
    _refuse_another_run(environ, whole, file.with_name(RESULTS_FILE))
    return unsealed(whole)


def _refuse_another_run(environ: Mapping[str, str], whole: Results, beside: Path) -> None:
    """Anybody can seal for a public key: evidence has to fit the results that it lies beside, and
    where our own key has signed these, the digest tells.
    """
    from gateval.domain.decision.report import make_report, publishable

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


def is_manifest_file(file: Path) -> bool:
    """Whether a file is one of sealed manifests, by its name."""
    return is_sealed(file.name)
