"""Candidates behind real walls: who they are, what they reach, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.candidates.team import Candidates
from gateval.domain.plan.plan import AgentDefinition
from gateval.domain.trials.trial import Answer, Cause, NoAnswer
from tests.helpers.candidates import World, ask, command_agent, no_survivors
from tests.helpers.isolation import isolated_world, open_folder, open_python

SMALL = ResourceLimits(memory_mib=128, disk_mib=16, files=200, processes=40)
BOTH = pytest.mark.parametrize("own_users", [True, False], ids=["own users", "same user"])


@pytest.fixture
def own_users() -> bool:
    return True


@pytest.fixture
def secret() -> Iterator[Path]:
    """A folder that everybody may read, and that is none of a candidate's business."""
    with open_folder() as folder:
        (folder / "token").write_text("canary")
        (folder / "token").chmod(0o644)
        yield folder


@pytest.fixture
def world(secret: Path, *, own_users: bool) -> Iterator[World]:
    if own_users and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    with isolated_world(SMALL, secret, own_users=own_users) as world:
        yield world


def agent(setup: bool = False) -> AgentDefinition:
    python = (open_python(), "-I", "-S")
    return command_agent((*python, "agent.py"), setup=(*python, "setup.py") if setup else ())


def run(world: World, program: str, *, setup: str = "", trials: int = 1) -> Answer | NoAnswer:
    """Ask the program once, or more often side by side, and return what came of it first."""
    world.write("agent.py", program)
    if setup:
        world.write("setup.py", setup)

    async def main() -> list[Answer | NoAnswer]:
        async with Candidates(world.context) as candidates:
            asked = (candidates.answer(agent(bool(setup)), ask()) for _ in range(trials))
            return await asyncio.gather(*asked)

    results = asyncio.run(main())
    assert world.survivors() == []
    assert world.leftovers() == []
    return results[0]


def output(world: World, program: str, *, setup: str = "") -> str:
    result = run(world, program, setup=setup)
    assert isinstance(result, Answer), result
    return result.output


@BOTH
def test_it_has_no_privileges_and_its_own_session(world: World, *, own_users: bool) -> None:
    seen = output(
        world,
        """
        import os, resource
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        caps = [int(status[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")]
        limits = [resource.getrlimit(getattr(resource, "RLIMIT_" + name))
                  for name in ("CORE", "FSIZE", "NOFILE")]
        print(os.getsid(0) == os.getpid(), status["NoNewPrivs"].strip(), caps, limits,
              status["Umask"].strip(), os.listdir("/proc/self/fd"), os.getgroups(), sep="|")
        """,
    ).split("|")
    assert seen[:3] == ["True", "1", "[0, 0, 0, 0, 0]"]
    assert seen[3] == f"[(0, 0), ({16 << 20}, {16 << 20}), (200, 200)]"
    assert seen[4:6] == ["0077", "['0', '1', '2', '3']"]
    assert seen[6] == ("[]" if own_users else str(os.getgroups()))


def test_each_instance_is_another_user_and_never_ours(world: World) -> None:
    ask_who = "import os; print(os.getresuid(), os.getresgid())"
    seen = {output(world, ask_who) for _ in range(3)}
    assert len(seen) == 3
    for one in seen:
        user = one.split(",")[0].strip("(")
        assert one == f"({user}, {user}, {user}) ({user}, {user}, {user})"
        assert int(user) >= 1_900_000_000 or 50_000 <= int(user) < 60_000


@BOTH
def test_what_is_hidden_cannot_be_read_nor_the_export_written(world: World, secret: Path) -> None:
    seen = output(
        world,
        f"""
        import os
        for attempt in (
            lambda: open({str(secret / "token")!r}).read(),
            lambda: os.listdir({str(secret)!r}),
            lambda: open("agent.py", "a"),
            lambda: open("new", "w"),
            lambda: os.unlink("agent.py"),
            lambda: os.listdir(os.path.dirname(os.path.dirname(os.environ["HOME"]))),
            lambda: os.readlink("/proc/{os.getpid()}/cwd"),
            lambda: open("/proc/{os.getpid()}/environ", "rb").read(1),
            lambda: open("/proc/{os.getpid()}/mem", "rb"),
            lambda: os.kill({os.getpid()}, 0),
        ):
            try:
                print("reached", attempt())
            except OSError as error:
                pass
        open(os.environ["HOME"] + "/mine", "w").write("x")
        open(os.environ["TMPDIR"] + "/mine", "w").write("x")
        print(open("agent.py").read()[:0] + "read its own")
        """,
    )
    assert seen == "read its own"


@BOTH
def test_of_proc_and_dev_only_what_is_harmless_can_be_written(
    world: World, *, own_users: bool
) -> None:
    seen = output(
        world,
        f"""
        import os
        if os.fork() == 0:  # a child's own part of /proc is not the candidate's
            try: os._exit(0 if os.open("/proc/self/comm", os.O_WRONLY) < 0 else 1)
            except OSError: os._exit(0)
        print(os.waitstatus_to_exitcode(os.wait()[1]))
        for path in (
            "/proc/sys/kernel/hostname", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger",
            "/proc/sys/kernel/core_pattern", "/proc/{os.getpid()}/comm", "/proc/1/comm",
            "/dev/kmsg", "/dev/net/tun", "/dev/fuse", "/dev/kvm", "/dev/vda", "/dev/loop-control",
        ):
            try: print("reached", os.open(path, os.O_WRONLY), path)
            except OSError: pass
        for path in ("/proc/self/comm", "/dev/null", "/dev/zero", "/dev/full", "/dev/stdout"):
            os.close(os.open(path, os.O_WRONLY))
        os.close(os.open("/dev/urandom", os.O_RDONLY))
        try: print(os.ttyname(os.openpty()[1])[:9])
        except OSError as error: print("no terminal")
        """,
    )
    assert seen.splitlines() == ["0", "/dev/pts/" if own_users else "no terminal"]


def test_too_many_files_written_at_once_in_shared_memory_are_noticed(world: World) -> None:
    result = run(
        world,
        """
        import os
        folder = f"/dev/shm/many-{os.getpid()}"
        os.mkdir(folder)
        os.chdir(folder)
        for n in range(200_100): os.mknod(str(n))
        print("done")
        """,
    )
    assert isinstance(result, NoAnswer)
    assert "GATEVAL_CANDIDATE_DISK" in result.reason


@BOTH
def test_who_writes_much_and_ends_at_once_is_noticed(world: World) -> None:
    result = run(
        world,
        """
        import os
        for n in range(3): open(os.environ["TMPDIR"] + f"/{n}", "wb").write(b"x" * (6 << 20))
        print("done")
        """,
    )
    assert isinstance(result, NoAnswer)
    assert "GATEVAL_CANDIDATE_DISK" in result.reason
    assert (
        output(world, "print('one that writes nothing is not')") == "one that writes nothing is not"
    )


@BOTH
@pytest.mark.parametrize("files", [1, 3])
def test_what_a_set_up_finds_does_not_count_and_what_it_writes_does(
    world: World, files: int
) -> None:
    (world.export / "large").write_bytes(b"x" * (20 << 20))
    setup = f"for n in range({files}): open(f'{{n}}', 'wb').write(b'x' * (6 << 20))"
    result = run(world, "print('ran')", setup=setup)
    if files == 1:
        assert isinstance(result, Answer), result
    else:
        assert isinstance(result, NoAnswer)
        assert "GATEVAL_CANDIDATE_DISK" in result.reason


DAEMON = """
import os, signal, sys, time
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for fd in range(3): os.close(fd)
            os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)#" + os.environ["HOME"]], {})
        os._exit(0)
    os.wait()
"""


@BOTH
def test_daemons_that_shed_every_mark_are_ended(world: World) -> None:
    seen = output(
        world,
        DAEMON
        + """
for _ in range(3): daemon()
mine = set()
while len(mine) < 3:
    for p in os.listdir("/proc"):
        try:
            if b"time.sleep(60)#" + os.environb[b"HOME"] in open(f"/proc/{p}/cmdline", "rb").read(): mine.add(p)
        except OSError: pass
print(" ".join(mine), flush=True)
if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)
""",
    )
    assert len(seen.split()) >= 3
    for pid in seen.split():
        assert not Path(f"/proc/{pid}").exists()


BREAKS = [
    ("memory", "x = []\nwhile True: x.append(bytearray(b'x') * (4 << 20)); time.sleep(0.002)"),
    ("disk", "n = 0\nwhile True: open(os.environ['HOME'] + f'/{n}', 'w').write('x' * (1 << 20)); n += 1; time.sleep(0.005)"),
    ("processes", "while True:\n  try:\n    if os.fork() == 0: time.sleep(60)\n  except OSError: raise SystemExit('refused')"),
]  # fmt: skip


@BOTH
@pytest.mark.parametrize(("what", "program"), BREAKS, ids=[b[0] for b in BREAKS])
def test_one_that_uses_too_much_is_ended_with_a_sentence(
    world: World, what: str, program: str, *, own_users: bool
) -> None:
    result = run(world, "import os, time\n" + program)
    assert isinstance(result, NoAnswer)
    assert result.cause is Cause.CANDIDATE
    if what == "processes" and own_users:  # there the kernel refuses the next process
        assert "refused" in result.detail
    else:
        assert f"GATEVAL_CANDIDATE_{what.upper()}" in result.reason


@BOTH
def test_a_set_up_may_write_the_export_and_all_trials_may_read_it(
    world: World, *, own_users: bool
) -> None:
    seen = output(
        world,
        "print(open('deep/made').read(), open('agent.py').read()[:5])",
        setup="import os; os.mkdir('deep'); open('deep/made', 'w').write('by the set-up')",
    )
    assert seen == "by the set-up print"
    made = (world.export / "deep/made").stat()
    assert made.st_uid == os.geteuid()
    assert made.st_mode & 0o7777 == (0o644 if own_users else 0o600)


def test_links_that_a_set_up_leaves_are_not_followed(world: World, secret: Path) -> None:
    private = secret / "private"
    private.write_text("canary")
    private.chmod(0o600)
    (world.export / "planted").hardlink_to(private)
    output(
        world,
        "print('ran')",
        setup=f"""
        import os
        os.symlink({str(private)!r}, "link")
        os.symlink({str(secret)!r}, "folder")
        open("setuid", "w").close(); os.chmod("setuid", 0o6777)
        """,
    )
    state = private.stat()
    assert (state.st_uid, state.st_mode & 0o7777) == (0, 0o600)
    assert secret.stat().st_uid == 0
    assert (world.export / "setuid").stat().st_mode & 0o7777 == 0o755


def test_leftovers_in_shared_places_are_removed(world: World) -> None:
    seen = output(
        world,
        """
        import ctypes, os, time
        made = []
        for folder in ("/tmp", "/var/tmp", "/dev/shm"):
            path = f"{folder}/left-{os.getpid()}"
            try: os.makedirs(path + "/deep"); open(path + "/deep/file", "w").close()
            except OSError: continue
            made.append(path)
        assert ctypes.CDLL(None).shmget(0, 4096, 0o1600) >= 0
        print(os.getuid(), *made)
        """,
    )
    user, *made = seen.split()
    assert len(made) >= 2
    assert [path for path in made if os.path.lexists(path)] == []
    assert user not in Path("/proc/sysvipc/shm").read_text()


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of its system calls")
def test_keys_in_the_gates_keyring_cannot_be_found() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(250, 1, None) < 0 or libc.syscall(248, b"user", b"canary", b"x", 1, -3) < 0:
        pytest.skip("this system has no keyrings for us")
    assert libc.syscall(250, 10, -3, b"user", b"canary", 0) > 0
    find = """
        import ctypes
        print(ctypes.CDLL(None).syscall(250, 10, -3, b"user", b"canary", 0))
        """
    with isolated_world(SMALL, own_users=False) as world:
        assert output(world, find) == "-1"


def test_a_supervisor_that_is_gone_is_a_fault_of_the_gate(world: World) -> None:
    supervisor_client = world.context.starter
    supervisor_client._process.kill()  # type: ignore[attr-defined]
    supervisor_client._process.wait()  # type: ignore[attr-defined]
    result = run(world, "print('x')")
    assert isinstance(result, NoAnswer)
    assert result.cause is Cause.GATE
    assert "supervisor" in result.reason
    assert no_survivors(world.context.run)
