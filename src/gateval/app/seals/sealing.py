"""What `seal` does: makes keys, and encrypts manifests."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gateval.adapters.age import IDENTITY_VARIABLE, new_identity, opener, seal
from gateval.adapters.folders import opened_folder, replace_file
from gateval.adapters.git import GitRepository, open_repository
from gateval.adapters.new_files import write_private
from gateval.app.registries import registries
from gateval.app.shared_rules import rules_here
from gateval.app.stored import read_limited
from gateval.domain.manifests.evaluation import Eval
from gateval.domain.manifests.policy.gate_config import GATE_CONFIG_PATH
from gateval.domain.manifests.sealed import with_first_line, without_first_line
from gateval.domain.repository.paths import show_path
from gateval.domain.repository.place import Problem, sort_problems
from gateval.errors import EXIT_PASS, InvalidManifests, UsageError
from gateval.formats.native.manifests import read_manifests
from gateval.formats.parsed import Parsed
from gateval.formats.sealed import hardly_sealed
from gateval.pipeline.manifests.cache import ManifestCache
from gateval.pipeline.manifests.cases import fill_in
from gateval.pipeline.rules import read_rules
from gateval.ports.sealing import CannotOpen
from gateval.render.report.words.counts import count


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
    problems = problems or _problems_filled_in(found, cache)
    if problems:
        raise InvalidManifests(sort_problems(problems), hint="Mend them; nothing was written.")
    if not held:
        raise UsageError(f"{show_path(path)} holds no manifest that could be sealed.")
    target = f"{path}.age"
    salt = _salt_of(environ, repository, target) or secrets.token_hex(16)
    content = seal(with_first_line(target, salt, text), recipients)
    return absolute.parent, f"{absolute.name}.age", content, f"{show_path(target)}: {_held(found)}"


def _problems_filled_in(found: Parsed, cache: ManifestCache) -> list[Problem]:
    """What is wrong with its templates, as the Evals beside them fill them in."""
    evals = [one for one in found.manifests if isinstance(one, Eval)]
    filled = fill_in(found.templates, evals, {}, cache, all_read=False)
    fixtures = (*filled.fixtures, *(f for named in filled.by_eval.values() for f in named.values()))
    return [
        *filled.problems,
        *dict.fromkeys(wrong for one in fixtures if (wrong := hardly_sealed(one))),
    ]


def _held(found: Parsed) -> str:
    evals = sum(one.kind != "EvalFixture" for one in found.manifests)
    fixtures = len(found.manifests) + len(found.templates) - evals
    return f"{count(evals, 'Eval')}, {count(fixtures, 'fixture')}"


def _salt_of(environ: Mapping[str, str], repository: GitRepository, path: str) -> str:
    """The salt of the file that is sealed again: what did not change must not look changed."""
    unseal, before = opener(environ), _sealed_before(repository, path)
    if unseal is None or before is None:
        return ""
    with suppress(CannotOpen):
        content = without_first_line(unseal(before))
        return content.salt if content.path == path else ""
    return ""


def _sealed_before(repository: GitRepository, path: str) -> bytes | None:
    """The sealed file as it stands here, else as the last commit has it."""
    file, limit = repository.root / path, ManifestCache.FILE_LIMIT
    if file.is_file():
        return read_limited(str(file), limit)
    tree = repository.tree(repository.resolve("HEAD")) if repository.has_commit() else {}
    return repository.blobs([tree[path].oid], limit=limit)[tree[path].oid] if path in tree else None
