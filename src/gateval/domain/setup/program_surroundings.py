"""The folder that a program works in, what installs it, and what lies around it. Pure."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from posixpath import basename, dirname, join, normpath

from gateval.domain.setup.beside import absent_files, asked_here
from gateval.domain.setup.import_graph import folders_above, python_tree, shared_packages
from gateval.domain.setup.nest import NEEDED, is_nest
from gateval.domain.setup.no_edits import needs
from gateval.domain.setup.other_work import names_other_work
from gateval.domain.setup.prerequisites import told_before
from gateval.domain.setup.program import FoundProgram, Login, SetUp
from gateval.domain.setup.program_install import (
    fitted,
    project_of,
    told_set_up,
    with_extras,
    with_itself,
    with_paths,
    with_told_groups,
)
from gateval.domain.setup.repository_files import ENDINGS, FILE_NAME, RepositoryFiles, is_own
from gateval.domain.setup.server_modules import name_of
from gateval.domain.setup.start_command import import_root
from gateval.domain.setup.told_starts import told_fillings
from gateval.domain.setup.variables import ENV_EXAMPLES, read_by_libraries, told_variables


def with_surroundings(program: FoundProgram, path: str, around: RepositoryFiles) -> FoundProgram:
    """Return the program with what lies around its file: packages, data, models."""
    root, setup = program.root, program.setup
    inside = around.below(root)
    near = [*(around.reach.from_(path) if path in around.texts else ()), *inside]
    packages = {module.split(".")[0] for module in around.imported(inside)}
    shared = shared_packages(root, packages, around.files)
    if setup is not None:  # it sees shared packages, too: a lock file may name their folders
        setup = setup._replace(inputs=(*setup.inputs, *shared))
    reads = _read_beside(program, inside, packages, around) if not root else ()
    examples = [join(folder, one) for folder in dict.fromkeys(["", root]) for one in ENV_EXAMPLES]
    told = [program.path, *around.environments.get(program.path, ())]
    read = [*near, *(path for path in [*told, *examples] if path in around.variables)]
    variables = dict.fromkeys(name for other in read for name in around.variables[other])
    variables |= dict.fromkeys(_told_to_set({"", root, dirname(path)}, near, around))
    followed = list(around.reach.from_(path)) if path in around.texts else []
    implied = {name for other in followed for name in read_by_libraries(around.texts[other])}
    known = "\n".join([*variables, *around.readmes.values()])
    variables |= {one: None for one in sorted(implied) if one.partition("_")[0] not in known}
    set_here = {*dict(program.invocation.env), program.invocation.variable}
    variables = {one: None for one in variables if one not in set_here}
    given = [around.examples[one] for one in read if one in around.examples]  # the nearest last
    plain = {name: value for one in given for name, value in one.plain.items()}
    addresses = {name: value for one in given for name, value in one.addresses.items()}
    names = frozenset().union(*(around.names[other] for other in followed))
    told_of = (around.readmes[one] for one in around.readmes if dirname(one) in {root, ""})
    names |= {one for text in told_of for one in FILE_NAME.findall(text) if one[:4] != ".env"}
    login = next(filter(None, (login_of(around.texts[other]) for other in followed)), None)
    of_cloud = login is not None and not login.by.startswith(("boto3", "google.auth"))
    naming = followed if of_cloud else near  # of its own models, and none of a file beside it
    return program._replace(
        setup=setup,
        include=shared,
        reads=reads,
        models=_answering_first(model for other in naming for model in around.models[other]),
        variables=tuple(one for one in variables if one not in plain),
        examples=tuple(plain.items()),
        addresses=tuple(addresses.items()),
        asks=(
            *asked_here(
                (around.texts[other] for other in followed if other.endswith(".py")), variables
            ),
            *_started_beside(path, around),
        ),
        logs_in=login,
        absent=(*absent_files(root, names, around.files), *_placeholders(program, around)),
        fills=tuple(_told_to_fill({"", root, dirname(path)}, path, around)),
        stores=next(_stores(followed, around), ""),
        wants=tuple(_wanted_before(path, {*variables}, packages, around)),
        **needs(around.texts[other] for other in near if other in around.texts),
    )


_LOGS_IN = {
    "Azure": r"\b(?:DefaultAzure|ChainedToken|ManagedIdentity|AzureCli|AzureDeveloperCli"
    r"|InteractiveBrowser)Credential(?=\()",
    "AWS": r"\b(?:Bedrock(?:Converse)?(?:Model)?|ChatBedrock(?:Converse)?"
    r"|(?:Async)?AnthropicBedrock|BedrockRuntimeClient)(?=\()|\bbedrock-(?:agent-)?runtime(?=[\"'])"
    r"|\bbedrock(?:_converse)?(?=[/:][\w-]+\.)"
    r"|\bboto3\.(?:client|resource|Session)(?=\((?!\s*[\"']bedrock-))"
    r"|@ai-sdk/amazon-bedrock",
    "UiPath": r"\bUiPath(?:Azure)?(?:Chat\w*|OpenAI\w*)?(?=\()",
    "Databricks": r"\b(?:(?:Async)?DatabricksOpenAI|ChatDatabricks|WorkspaceClient)(?=\()",
    "Hugging Face": r"\b(?:InferenceClient(?:Model)?|AsyncInferenceClient|HfApiModel"
    r"|HuggingFace(?:Endpoint|SandboxEnvironment))(?=\()",
    "Google Cloud": r"\b(?:google\.auth\.default|ChatVertexAI|(?:Async)?AnthropicVertex"
    r"|vertexai\.init)(?=\()"
    r"|\bvertexai(?==True|: true)",
}
"""What a program calls by which it logs in to a cloud with what its machine has."""

_OF_STRANDS = re.compile(r"^[ \t]*(?:from strands import|import strands\b)", re.M)


@lru_cache(maxsize=4_096)
def login_of(text: str) -> Login | None:
    """Return how a text logs in to a cloud, if it does. An agent of Strands that is given no model
    asks one of Amazon Bedrock: https://strandsagents.com, "Amazon Bedrock" under model providers.
    """
    for cloud, by in _LOGS_IN.items():
        if found := re.search(by, text):
            return Login(cloud, found[0])
    made = ast.walk(tree) if _OF_STRANDS.search(text) and (tree := python_tree(text)) else ()
    calls = (one for one in made if isinstance(one, ast.Call) and name_of(one.func) == "Agent")
    if any(
        not one.args and not {None, "model"} & {key.arg for key in one.keywords} for one in calls
    ):
        return Login("AWS", "the model that Strands takes unless it is told")
    return None


_STORED = re.compile(
    r"\b[\w.]{1,60}\.(?:upsert\w*|add_to_index\w*|create_?[iI]ndex|create_?[cC]ollection"
    r"|add_documents|addDocuments|insert_many)(?=\()"
)


def _stores(paths: Iterable[str], around: RepositoryFiles) -> Iterator[str]:
    """Yield how the files at these paths fill a store that runs elsewhere."""
    for path in paths:
        if not names_other_work(path) and (call := _stored(around.texts[path])):
            yield f"`{call}` in {path}"


@lru_cache(maxsize=4_096)  # many agents of one file
def _stored(text: str) -> str:
    return found[0][-60:] if (found := _STORED.search(text)) else ""


_PORT = re.compile(
    r"(?i)(?<![a-z])port\b[^\n]{0,40}?\b(\d{4,5})\b|(?:localhost|127\.0\.0\.1):(\d{4,5})\b"
)
_SERVES = re.compile(r"\buvicorn\.run\(|\bapp\.run\(|\.serve\(|\.listen\(|\bmcp\.run\(")


def _started_beside(path: str, around: RepositoryFiles) -> Iterator[str]:
    """Yield the servers that people are told to start apart from a program that names their port
    and serves nothing itself.
    """
    near = around.reach.from_(path) if path in around.texts and path in around.told else ()
    if any(_SERVES.search(around.texts[one]) for one in near):
        return
    ports = {port for one in near for port in _ports(around.texts[one])}
    for other in around.told if ports else ():
        text = around.texts.get(other, "") if other not in near else ""
        if _SERVES.search(text) and (shared := ports & {*_ports(text)}):
            yield f"port {min(shared)}, which {basename(other)} serves"


def _ports(text: str) -> Iterator[str]:
    return (one[0] or one[1] for one in _PORT.findall(text))


def _wanted_before(
    path: str, variables: Collection[str], packages: Collection[str], around: RepositoryFiles
) -> Iterator[str]:
    """Yield what the nearest README has people do and have before the program at `path` answers,
    but for keys whose variables are named, and packages that are imported.
    """
    told = {dirname(one): one for one in sorted(around.readmes, reverse=True)}
    near = next((told[folder] for folder in folders_above(path) if folder in told), "")
    named = {one.partition("_")[0].lower() for one in variables}
    known = {one.lower() for one in packages}
    for one in told_before(around.readmes[near]) if near else ():
        words = re.findall(r"[\w-]+", one.lower())
        keyed = "key" in one.lower() and named & {*words}
        package = words and words[0].replace("-", "_") in known
        if not (keyed or package or basename(path) in one):
            yield one


_SECRET = re.compile(r"(?:KEYS?|TOKEN|SECRET|PASSWORD|CREDENTIALS?|PROJECT|_ID)$")


def _told_to_set(
    folders: Container[str], near: Iterable[str], around: RepositoryFiles
) -> Iterator[str]:
    """Yield the variables that the READMEs of folders say to set: secrets and names, which a
    library may read, and such addresses as files here name.
    """
    texts = [around.texts[one] for one in dict.fromkeys(near) if one in around.texts]
    for path in sorted(around.readmes, key=lambda one: one.count("/")):
        for name in told_variables(around.readmes[path]) if dirname(path) in folders else ():
            if _SECRET.search(name) or any(name in text for text in texts):
                yield name


def _told_to_fill(folders: Container[str], path: str, around: RepositoryFiles) -> Iterator[str]:
    """Yield the commands of the READMEs of folders that fill what the program at `path` needs."""
    for readme, text in around.readmes.items():
        if dirname(readme) in folders:
            for one in told_fillings(text, around.files, dirname(readme)):
                if basename(path) not in one:
                    yield one


_PLACEHOLDER = re.compile(r"(?:[\w.-]+/)*[\w-]+\.(?:log|txt|md|pdf|docx?|csv|json|ya?ml|html?)")


def _placeholders(program: FoundProgram, around: RepositoryFiles) -> Iterator[tuple[str, str]]:
    """Yield the files that a README's command names and the repository has not, with no example."""
    for word in program.invocation.words:
        if _PLACEHOLDER.fullmatch(word) and normpath(join(program.root, word)) not in around.files:
            yield word, ""


def _answering_first(named: Iterable[str]) -> tuple[str, ...]:
    """Return the models that answer before those of embeddings; none where these alone are named,
    for what answers would be refused.
    """
    models = dict.fromkeys(named)
    embeds = [one for one in models if "embedding" in one]
    answers = [one for one in models if one not in embeds]
    return (*answers, *embeds) if answers else ()


_DIRECTORY = re.compile(
    r"\b(?:StaticFiles|Jinja2Templates)\(\s*(?:directory\s*=\s*)?[\"']([\w./-]*\w)[\"']"
)
"""A folder of files that a server of Python serves, which has to be there."""


def _read_beside(
    program: FoundProgram, inside: Sequence[str], packages: Collection[str], around: RepositoryFiles
) -> tuple[str, ...]:
    """Return the files that a program in the repository's root reads: those that the files `inside`
    name, in folders that they name or serve, and the `packages` that they import.
    """
    named = {*chain.from_iterable(around.names[one] for one in inside)}
    named.add(basename(program.invocation.file))
    texts = [around.texts[one] for one in inside]
    folders = tuple(f"{one.strip('./')}/" for text in texts for one in _directories(text))
    tops = {*packages, *chain.from_iterable(map(_folders_named, texts))}
    kept = {
        one
        for one in around.files
        if "/" in one
        and (top := one.split("/")[0]) in tops
        and (top not in packages or (one.endswith(".py") and not is_own(one)))
    }
    data = (one for one in around.files if not one.endswith(ENDINGS) and is_own(one))
    kept.update(one for one in data if basename(one) in named or one.startswith(folders))
    return tuple(sorted(kept))


_FOLDER = re.compile(
    r"(?:\w(?:dir|folder|path|root|home)\w{0,20}[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
    r"|\b(?:Path|glob)\([ \t]{0,4}|[\w)][ \t]{0,4}/[ \t]{0,4}|\bjoin\([^()\n]{0,60}?)"
    r"[\"'](?:\./)?(\.?\w[\w.-]{0,80})/?[\"']"
    r"|[\"'](?:\./)?(\.?\w[\w-]{0,80})/[\w./*-]{1,200}[\"']"
)
_NO_DATA = frozenset(
    {".github", ".git", ".venv", "node_modules", "agents", "tests", "docs", "dist"}
)
"""Folders that no program means by a name that it happens to have."""


@lru_cache(maxsize=4_096)
def _folders_named(text: str) -> frozenset[str]:
    """Return the names of folders beside it that a program may read."""
    return frozenset(one[0] or one[1] for one in _FOLDER.findall(text)) - _NO_DATA


@lru_cache(maxsize=4_096)
def _directories(text: str) -> tuple[str, ...]:
    return tuple(_DIRECTORY.findall(text))


_PROJECT_NAME = re.compile(r"^name\s*=\s*[\"']([^\"'\n]+)|^\s*\"name\":\s*\"([^\"\n]+)", re.M)


def project_name(root: str, around: RepositoryFiles) -> str:
    """Return what the project in a folder calls itself, if it does."""
    for name in ("pyproject.toml", "package.json"):
        if found := _PROJECT_NAME.search(around.projects.get(join(root, name), "")):
            return (found[1] or found[2]).rpartition("/")[2]
    return ""


@lru_cache(maxsize=1_024)  # many agents of one file
def folder_and_set_up(path: str, around: RepositoryFiles) -> tuple[str, SetUp | None]:
    """Return the folder that the program works in, and what installs its dependencies."""
    root, setup = project_of(path, around.files)
    inside = around.below(root)
    needed = NEEDED if is_nest(around.texts.get(path, "")) else ("tsx",)
    imported = around.imported(inside)
    setup = fitted(setup, path, root, around.projects, imported, around.files, needed)
    if path.endswith(".py"):
        project = around.projects.get(join(root, "pyproject.toml"), "")
        own = (around.texts[other] for other in inside)
        reached = around.reach.from_(path) if path in around.texts else ()
        setup = with_extras(setup, project, around.imported(reached)) if setup else None
        setup = with_itself(setup, root, own, project, around.files)
        setup = with_paths(setup, root, project, around.files) if setup else None
        near_by = [around.readmes[one] for one in sorted(around.readmes) if dirname(one) == root]
        setup = with_told_groups(setup, near_by) if setup else None
    if setup is None and path.endswith(".py") and root == dirname(path) and path in around.texts:
        found = import_root(path, around.texts[path], "", around.modules[path], around.files)
        root = root if found is None else found
    return root, setup


def set_up_of_readme(root: str, around: RepositoryFiles) -> SetUp | None:
    """Return what installs what the README of a folder says to install."""
    near = (one for one in around.readmes if dirname(one) == root)
    told = (told_set_up(basename(one), around.readmes[one]) for one in near)
    return next(filter(None, told), None)
