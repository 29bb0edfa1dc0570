"""Finds the programs of a repository that look like agents, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from posixpath import basename, dirname, join, splitext

from gateval.domain.setup.programs.around import ENDINGS, Around, is_own
from gateval.domain.setup.programs.asking import invocation_of
from gateval.domain.setup.programs.fitting import fitted, with_itself
from gateval.domain.setup.programs.found import FoundProgram, SetUp
from gateval.domain.setup.programs.importing import shared_packages
from gateval.domain.setup.programs.installing import project_of
from gateval.domain.setup.programs.starting import import_root, start_of

_TELLING = {"main", "agent", "app", "bot", "server", "index", "cli", "__main__", "run", "assistant"}
_PLAIN_SDKS = {"OpenAI SDK", "Anthropic SDK", "LiteLLM", "LangChain"}


def find_programs(
    texts: Mapping[str, str], files: Iterable[str], wanted: str = ""
) -> tuple[FoundProgram, ...]:
    """Return the programs among `texts` that look like agents, the likeliest first.

    `texts` are the files that are `worth_reading` or `tells_of_project`, `files` all tracked paths.
    A person names the program that is `wanted`. Where nothing says which files are started, those
    that import a framework are returned.
    """
    around = Around.of(texts, files)
    if wanted:
        return (_program(wanted, around.framework(wanted), around),)
    known = {path: name for path in around.texts if (name := around.framework(path))}
    entries = [path for path in known if around.starts(path)]
    using = (path for path in known if around.frameworks[path])
    found = [_program(path, known[path], around) for path in entries or using]
    return tuple(sorted(found, key=lambda one: (-one.score, one.path.count("/"), one.path)))


def _program(path: str, framework: str, around: Around) -> FoundProgram:
    text, behind = around.texts[path], around.behind(path)
    root, setup = _set_up(path, around)
    inside = around.below(root)
    models = dict.fromkeys(model for other in [path, *inside] for model in around.models[other])
    invocation = invocation_of(path, text, behind)
    modules = around.imported([path, *around.below(dirname(path))])
    start = start_of(
        path,
        (text, behind),
        root,
        modules,
        around.files,
        setup=setup,
        function=around.declared.get(path, ""),
    )
    packages = {module.split(".")[0] for module in around.imported(inside)}
    shared = shared_packages(root, packages, around.files)
    if setup is not None:  # it sees shared packages, too: a lock file may name their folders
        setup = setup._replace(inputs=(*setup.inputs, *shared))
    named = frozenset().union(*(around.names[other] for other in inside))
    data = (other for other in around.files if not other.endswith(ENDINGS) and is_own(other))
    reads = sorted(other for other in data if basename(other) in named) if not root else ()
    return FoundProgram(
        path=path,
        framework=framework,
        root=root,
        command=(*start.command, *invocation.words),
        modules_in=start.modules_in,
        invocation=invocation,
        setup=setup,
        include=shared,
        reads=tuple(reads),
        models=tuple(models),
        score=_score(path, framework, setup, around),
        started=around.starts(path),
    )


def _set_up(path: str, around: Around) -> tuple[str, SetUp | None]:
    """Return the folder that the program works in, and what installs its dependencies."""
    root, setup = project_of(path, around.files)
    inside = around.below(root)
    setup = fitted(setup, path, root, around.projects, around.imported(inside), around.files)
    if path.endswith(".py"):
        project = around.projects.get(join(root, "pyproject.toml"), "")
        own = (around.texts[other] for other in inside)
        setup = with_itself(setup, root, own, project, around.files)
    if setup is None and path.endswith(".py") and root == dirname(path):
        found = import_root(path, around.texts[path], "", around.modules[path], around.files)
        root = root if found is None else found
    return root, setup


def _score(path: str, framework: str, setup: SetUp | None, around: Around) -> int:
    stem = splitext(basename(path))[0].lower()
    named = stem in _TELLING or any(word in stem for word in ("agent", "bot", "assistant"))
    telling = framework not in _PLAIN_SDKS
    return 2 * named + 2 * telling + (setup is not None) + (path in around.declared)
