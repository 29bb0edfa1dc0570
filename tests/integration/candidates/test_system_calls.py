"""System calls that candidates may not make: each is tried, and each would do something elsewhere."""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateval.candidates.isolation.isolation_level import ResourceLimits
from gateval.candidates.isolation.supervisor import kernel as syscalls
from gateval.candidates.isolation.supervisor.kernel import knows_filters
from tests.helpers.candidates import World
from tests.helpers.isolation import isolated_world, open_python, output_of, walls_here

SMALL = ResourceLimits(memory_mib=512, disk_mib=64, files=500, processes=100)

PRELUDE = """
import ctypes, errno, json, mmap, os, signal
libc = ctypes.CDLL(None, use_errno=True)
seen = {}
def call(name, number, *words):
    ctypes.set_errno(0)
    words = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
    result = libc.syscall(ctypes.c_long(number), *words)
    if result == 0 and name.startswith("clone"):
        if os.getppid() and os.getpid() != me: os._exit(0)
    seen[name] = errno.errorcode.get(ctypes.get_errno(), "?") if result < 0 else f"done {result}"
me = os.getpid()
"""

CALLS = """
new_user = 0x10000000
call("unshare", 272, new_user)
call("clone", 56, new_user | signal.SIGCHLD, 0, 0, 0, 0)
arguments = (ctypes.c_uint64 * 11)(new_user, 0, 0, 0, signal.SIGCHLD)
call("clone3", 435, arguments, 88)
call("io_uring_setup", 425, 8, ctypes.create_string_buffer(120))
call("io_uring_enter", 426, 0, 0, 0, 0, 0, 0)
call("io_uring_register", 427, 0, 0, 0, 0)
call("bpf", 321, 0, 0, 0)
call("keyctl", 250, 0, -3, 0)
call("add_key", 248, b"user", b"mine", b"x", 1, -3)
call("request_key", 249, b"user", b"mine", 0, -3)
call("ptrace", 101, 0, 0, 0, 0)
call("process_vm_readv", 310, me, 0, 0, 0, 0, 0)
call("process_vm_writev", 311, me, 0, 0, 0, 0, 0)
call("perf_event_open", 298, 0, 0, -1, -1, 0)
call("userfaultfd", 323, 1)
call("mount", 165, 0, 0, 0, 0, 0)
call("umount2", 166, 0, 0)
call("open_tree", 428, 0, 0, 0)
call("move_mount", 429, 0, 0, 0, 0, 0)
call("fsopen", 430, 0, 0)
call("kexec_load", 246, 0, 0, 0, 0)
call("init_module", 175, 0, 0, 0)
call("finit_module", 313, -1, 0, 0)
call("delete_module", 176, 0, 0)
call("x32 getpid", 0x40000000 + 39)
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
seen["i386 getpid"] = errno.errorcode.get(-result, "?") if result < 0 else "done"
print(json.dumps(seen))
"""
"""The numbers are those of x86_64."""

UNKNOWN = {"clone3", "io_uring_setup", "io_uring_enter", "io_uring_register"}
FOREIGN = {"x32 getpid", "i386 getpid"}

x86_64_only = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the numbers of its system calls"
)


@pytest.fixture(params=[True, False], ids=["own users", "same user"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param and os.geteuid() != 0:
        pytest.skip("users of their own take root")
    if not walls_here(own_users=request.param).filtered:
        pytest.skip("no seccomp or no libseccomp2 here")
    with isolated_world(SMALL, own_users=request.param) as world:
        yield world


@x86_64_only
def test_each_call_of_the_deny_list_is_refused(world: World) -> None:
    seen = json.loads(output_of(world, PRELUDE + CALLS))
    wanted = {name: "ENOSYS" if name in UNKNOWN | FOREIGN else "EPERM" for name in seen}
    assert seen == wanted
    assert len(seen) > 25


@x86_64_only
def test_the_same_calls_are_not_refused_like_that_without_the_filter() -> None:
    done = subprocess.run(
        [open_python(), "-I", "-S", "-c", PRELUDE + CALLS],
        capture_output=True,
        text=True,
        check=True,
        env={},
    )
    seen = json.loads(done.stdout)
    assert seen["unshare"].startswith("done") or seen["unshare"] == "EPERM"
    assert [seen[name] for name in sorted(UNKNOWN)].count("ENOSYS") < len(UNKNOWN)
    assert seen["ptrace"] == "done 0"
    assert seen["keyctl"].startswith("done")


def test_a_fork_is_still_a_fork(world: World) -> None:
    """What libc does with clone3 unknown: processes, threads, posix_spawn."""
    program = """
        import os, subprocess, threading
        thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
        print(subprocess.run(["sh", "-c", "echo $(echo child)"], capture_output=True, text=True).stdout.strip())
        pid = os.posix_spawn("/bin/true", ["true"], {})
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    assert output_of(world, program).split() == ["thread", "child", "0"]


def test_a_library_that_is_missing_is_told_by_its_absence() -> None:
    assert (syscalls.filter_library() is not None) is (syscalls.compiled(sockets=False) is not None)
    for sockets in (False, True):
        program = syscalls.compiled(sockets=sockets)
        assert program is None or len(program) % 8 == 0


def test_what_the_kernel_knows_of_filters_is_what_it_says() -> None:
    said = Path("/proc/sys/kernel/seccomp").exists()
    assert knows_filters() is said
    assert ctypes.sizeof(syscalls._Test) == 24
