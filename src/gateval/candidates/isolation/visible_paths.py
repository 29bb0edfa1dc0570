"""Which parts of the file system candidates may see: everything but what is the gate's business.

Landlock only allows, so a place is hidden by allowing all that lies beside the way to it.

Those in the folders on PATH, and the toolchains that they belong to. Beside these lie credentials
(`~/.cargo/credentials.toml`, `~/.docker/config.json`), so no folder counts for its name or place: a
toolchain is known by what it holds, and only those parts of it are shown that it is known to need.
A folder that lies directly in HOME is never shown as a whole.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

RUNNER_FILES = (
    "GITHUB_EVENT_PATH", "GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE",
    "GITHUB_STEP_SUMMARY",
)  # fmt: skip
"""Variables that name files of the runner; the folders they lie in are hidden."""

RUNNER_FOLDER = "GATEVAL_ON_RUNNER"
"""Set by the action that runs beside the runner: the runner's own folder, `/` if it is unknown."""

RUNNER_FOLDERS = ("GITHUB_WORKSPACE", "RUNNER_TEMP", "HOME", RUNNER_FOLDER)

ALWAYS_HIDDEN = ("/github", "/run/user", "/var/run/docker.sock", "/run/containerd", "/run/podman")

DEVICES = (
    "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx",
)  # fmt: skip
"""Devices that may be read and written: none of them leads to anything that others have."""

TERMINALS = "/dev/pts"
"""Terminals that candidates open, and those of others. A user of their own cannot open the latter;
the gate's own user can, and would read what is typed there."""

SHARED = ("/tmp", "/var/tmp", "/dev/shm")

SHARED_MEMORY = ("/dev/shm",)

ENTRIES = 2_000
"""A folder on the way to a hidden place that holds more than this is hidden with all of it."""


def hidden_places(environ: Mapping[str, str], own: Iterable[Path]) -> frozenset[str]:
    """Return what candidates must not see, links resolved. `environ` is the gate's environment,
    `own` the gate's folders: workspace, results, scratch.
    """
    files = [os.path.dirname(environ[name]) for name in RUNNER_FILES if environ.get(name)]
    folders = [environ[name] for name in RUNNER_FOLDERS if environ.get(name)]
    wanted = [*files, *folders, *ALWAYS_HIDDEN, *(str(path) for path in own)]
    sockets = environ.get("DOCKER_HOST", "")
    if sockets.startswith("unix://"):
        wanted.append(sockets.removeprefix("unix://"))
    return frozenset(real for path in wanted if (real := os.path.realpath(path)) != "/")


def home_folders(environ: Mapping[str, str]) -> list[Path]:
    """Return the home that the gate is told to have, and the one that its user has."""
    homes = [Path(environ["HOME"])] if os.path.isabs(environ.get("HOME", "")) else []
    with contextlib.suppress(KeyError):
        homes.append(Path(pwd.getpwuid(os.geteuid()).pw_dir))
    return homes


def visible_places(hidden: frozenset[str], tools: frozenset[str]) -> list[str]:
    """Return folders and files that together are everything beside the hidden places. A place of
    tools that contains a hidden place is not made visible as a whole.
    """
    visible = _beside("/", hidden | {"/dev", *SHARED})
    return visible + sorted(tool for tool in tools if tool != "/" and not _holds(tool, hidden))


def usable_devices(*, own_users: bool) -> list[str]:
    """Return the devices that candidates may use."""
    return [*DEVICES, TERMINALS] if own_users else list(DEVICES)


def shared_places(hidden: frozenset[str], scratch: Path, *, own_users: bool) -> list[str]:
    """Return the folders for everybody's passing files, but for those that hold a hidden place.

    The scratch folder in one of them does no harm where candidates have users of their own. Where
    they do not, only shared memory is left: what lies in /tmp belongs to others.
    """
    others = hidden - {os.path.realpath(scratch)}
    wanted = SHARED if own_users else SHARED_MEMORY
    return [path for path in wanted if os.path.isdir(path) and not _holds(path, others)]


def passable(path: str) -> bool:
    """Whether users other than its owner may go to this place at all."""
    with contextlib.suppress(OSError):
        real = Path(os.path.realpath(path))
        return all(step.stat().st_mode & stat.S_IXOTH for step in (real, *real.parents))
    return False


def passed_over(name: str, path: str) -> tuple[str, str] | None:
    """Return the program of this name that comes first on PATH, where other users cannot go to it,
    and the one that they find in its place ("" if there is none); None where they find the same.
    """
    spots = (f"{folder}/{name}" for folder in path.split(os.pathsep) if os.path.isabs(folder))
    found = [spot for spot in spots if os.path.isfile(spot) and os.access(spot, os.X_OK)]
    taken = next((one for one in found if passable(os.path.dirname(one)) and passable(one)), "")
    return (found[0], taken) if found and found[0] != taken else None


def _holds(folder: str, hidden: frozenset[str]) -> bool:
    inside = folder.rstrip("/") + "/"
    return any(path == folder or path.startswith(inside) for path in hidden)


def _beside(folder: str, hidden: frozenset[str]) -> list[str]:
    if folder in hidden:
        return []
    if not _holds(folder, hidden):
        return [folder]
    found: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for count, entry in enumerate(entries):
            if count >= ENTRIES:
                return []
            if not entry.is_symlink():
                found += _beside(entry.path, hidden)
    return found


WHOLE = "."

_PREFIX = ("bin", "lib", "lib64", "libexec", "include")

KINDS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("pyvenv.cfg",), (*_PREFIX, "share", "pyvenv.cfg")),
    (("conda-meta/history",), (*_PREFIX, "share", "etc", "ssl", "conda-meta", "condabin", "envs")),
    (("lib/python3*/os.py",), _PREFIX),
    (("lib/node_modules",), _PREFIX),
    (("lib/ruby",), _PREFIX),
    (("lib/rustlib",), (*_PREFIX, "share")),
    (("toolchains", "settings.toml"), ("toolchains", "settings.toml")),  # of rustup
    (("bin/go", "src/runtime"), (*_PREFIX, "src", "pkg", "misc", "VERSION", "go.env")),
    (("release", "lib/modules"), (*_PREFIX, "conf", "jmods", "legal", "release")),  # Java
    (("dotnet", "shared"), ("dotnet", "host", "shared", "sdk", "packs", "sdk-manifests")),
    (("versions", "shims", "libexec"), (*_PREFIX, "shims", "versions", "version", "plugins")),
    (("installs", "shims"), (*_PREFIX, "shims", "installs", "plugins")),  # asdf, mise
    (("tools/image",), ("bin", "tools")),  # Volta
    ((".bin", ".package-lock.json"), (WHOLE,)),  # npm's node_modules
    (("autoload.php", "composer"), (WHOLE,)),  # Composer's vendor
)
"""What a toolchain holds, all of it, and what is shown of it then. The `versions` of pyenv, rbenv
and their like have both shims and a libexec beside them."""

PASSING = ("/tmp", "/var/tmp")
"""Hidden like homes where candidates have no users of their own."""

MOST_PROGRAMS = 200
"""So many programs of a folder that lies directly in HOME are shown, and so many links followed."""


@dataclass
class Tools:
    """Finds them. `homes` are the home folders of the gate, `ours` folders that a pull request may
    have filled (the workspace), out of which no link is followed. All paths are real ones.
    """

    homes: frozenset[str]
    ours: tuple[str, ...] = ()
    found: set[str] = field(default_factory=set)
    _known: dict[str, bool] = field(default_factory=dict)

    def on_path(self, environ: Mapping[str, str]) -> None:
        """Find what is on PATH, with the toolchains that it belongs to."""
        named = filter(os.path.isabs, environ.get("PATH", "").split(os.pathsep))
        for folder in dict.fromkeys(map(os.path.realpath, named)):
            self._folder(folder)
        for home in self.homes:
            if "rustup" in _names(os.path.join(home, ".cargo/bin")):
                self.toolchain(environ.get("RUSTUP_HOME") or os.path.join(home, ".rustup"))

    def toolchain(self, folder: str) -> bool:
        """Show the parts of a toolchain; False if the folder is none."""
        folder = os.path.realpath(folder)
        if folder not in self._known:
            self._known[folder] = False
            if folder not in self.homes and folder not in {"/", *PASSING}:
                parts = {
                    one for marks, parts in KINDS if _holds_all(folder, marks) for one in parts
                }
                if os.path.dirname(folder) in self.homes:
                    parts.discard(WHOLE)
                self._known[folder] = bool(parts)
                places = (_joined(folder, part) for part in parts)
                self.found.update(path for path in places if os.path.exists(path))
                if "bin" in parts:
                    self._follow(_joined(folder, "bin"))
        return self._known[folder]

    def _folder(self, folder: str) -> None:
        if folder in self.homes:
            return
        if os.path.dirname(folder) in self.homes:
            self.found |= set(_programs(folder))
        else:
            self.found.add(folder)
        for around in (folder, os.path.dirname(folder)):
            self.toolchain(around)
        self._follow(folder)

    def _follow(self, folder: str) -> None:
        """Show what the programs of a folder lead to: toolchains, or else a program by itself."""
        if any(_within(folder, place) for place in self.ours):
            return
        is_real = os.path.realpath(folder) == folder
        for program in _programs(folder):
            if is_real and not os.path.islink(program):
                continue
            target = os.path.realpath(program)
            if os.path.dirname(target) != folder:
                above = [str(one) for one in Path(target).parents]
                homes = [one for one in (*self.homes, *PASSING) if _within(target, one)]
                known = [self.toolchain(f) for h in homes for f in above if _within(f, h)]
                if not any(known):
                    self.found.add(target)


def tool_places(
    environ: Mapping[str, str],
    prefixes: Iterable[str],
    homes: Iterable[str],
    ours: Iterable[str] = (),
) -> frozenset[str]:
    """Return the folders and files with programs that stay visible even inside a hidden place.

    `prefixes` are toolchains that are needed in any case (Python's own), `homes` the home folders
    of the gate's user, `ours` folders that a pull request may have filled.
    """
    real = frozenset(os.path.realpath(home) for home in homes)
    tools = Tools(real - {"/"}, tuple(os.path.realpath(folder) for folder in ours))
    for prefix in prefixes:
        tools.toolchain(prefix)
    tools.on_path(environ)
    return frozenset(tools.found)


def _within(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def _joined(folder: str, part: str) -> str:
    return folder if part == WHOLE else os.path.join(folder, part)


def _holds_all(folder: str, marks: tuple[str, ...]) -> bool:
    with contextlib.suppress(OSError):
        return all(
            any(Path(folder).glob(mark)) if "*" in mark else os.path.exists(f"{folder}/{mark}")
            for mark in marks
        )
    return False


def _names(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder))
    return []


def _programs(folder: str) -> list[str]:
    """The executable files of a folder, links to such files among them."""
    found = []
    for name in _names(folder):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            state = os.stat(path)
            if stat.S_ISREG(state.st_mode) and state.st_mode & 0o111:
                found.append(path)
        if len(found) >= MOST_PROGRAMS:
            break
    return found
