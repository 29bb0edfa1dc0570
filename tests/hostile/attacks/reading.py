"""Attacks that want to see what is not theirs."""

from __future__ import annotations

from tests.hostile.attacks.attack import Attack

READING = (
    Attack("environ-of-others", """
        for pid in strangers():
            attempt("environ", lambda: read(f"/proc/{pid}/environ"), lambda r: b"canary" in r)
        nothing()
    """),
    Attack("memory-of-others", """
        for pid in strangers():
            attempt("maps", lambda: read(f"/proc/{pid}/maps"), lambda r: r)
            attempt("mem", lambda: open(f"/proc/{pid}/mem", "rb").fileno())
        nothing()
    """),
    Attack("files-of-others", """
        for pid in strangers():
            attempt("fd", lambda: [os.readlink(f"/proc/{pid}/fd/{n}") for n in os.listdir(f"/proc/{pid}/fd")])
            for link in ("root", "cwd", "exe"):
                attempt(link, lambda: os.readlink(f"/proc/{pid}/{link}"))
            attempt("through root", lambda: os.listdir(f"/proc/{pid}/root/"))
            attempt("through cwd", lambda: os.listdir(f"/proc/{pid}/cwd/"))
        nothing()
    """),
    Attack("ptrace", """
        for pid in strangers():
            attempt("ptrace", lambda: libc.ptrace(16, pid, 0, 0), lambda r: r == 0)
            attempt("seize", lambda: libc.ptrace(0x4206, pid, 0, 0), lambda r: r == 0)
        nothing()
    """),
    Attack("process-vm-readv", """
        class Part(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        buffer = ctypes.create_string_buffer(64)
        own, other = Part(ctypes.addressof(buffer), 64), Part(0x400000, 64)
        for pid in strangers():
            call = lambda: libc.process_vm_readv(pid, ctypes.byref(own), 1, ctypes.byref(other), 1, 0)
            # EFAULT (14) would mean that only the address was wrong
            attempt("memory", call, lambda r: r > 0 or ctypes.get_errno() == 14)
        nothing()
    """),
    Attack("kcmp-and-pidfd-getfd", """
        for pid in strangers():
            attempt("kcmp", lambda: libc.syscall(312, os.getpid(), pid, 1, 0, 0), lambda r: r >= 0)
            def steal():
                fd = os.pidfd_open(pid)
                return max(libc.syscall(438, fd, n, 0) for n in range(12))
            attempt("descriptor", steal, lambda r: r >= 0)
        nothing()
    """),
    Attack("git-config", """
        attempt("token", lambda: read(LAYOUT["workspace"] + "/.git/config"))
        attempt("objects", lambda: os.listdir(LAYOUT["workspace"] + "/.git/objects"))
        attempt("workspace", lambda: os.listdir(LAYOUT["workspace"]))
        nothing()
    """),
    Attack("event-file", """
        attempt("event", lambda: read(LAYOUT["event"]))
        attempt("folder", lambda: os.listdir(os.path.dirname(LAYOUT["event"])))
        nothing()
    """),
    Attack("runner-command-files", """
        for name in LAYOUT["commands"]:
            attempt("read", lambda: read(name))
            attempt("write", lambda: open(name, "a").write("EVIL=1\\n"))
        attempt("new one", lambda: open(os.path.dirname(name) + "/new", "w").write("EVIL=1\\n"))
        nothing()
    """),
    Attack("home-of-the-gate", """
        attempt("credentials", lambda: read(LAYOUT["home"] + "/.netrc"))
        attempt("home", lambda: os.listdir(LAYOUT["home"]))
        attempt("real home", lambda: os.listdir(os.path.expanduser("~root")))
        attempt("shadow", lambda: read("/etc/shadow"))
        nothing()
    """),
    Attack("credentials-beside-programs", """
        for name in LAYOUT["credentials"]:
            attempt("credentials", lambda: read(f"{LAYOUT['home']}/{name}"))
            attempt("folder", lambda: os.listdir(os.path.dirname(f"{LAYOUT['home']}/{name}")))
        said = subprocess.run(["cargo"], capture_output=True, text=True).stdout
        if said == "cargo runs\\n": nothing()
    """),
    Attack("terminals-of-others", """
        for flags in (os.O_RDONLY, os.O_WRONLY):
            attempt("terminal", lambda: os.open(LAYOUT["terminal"], flags | os.O_NOCTTY))
        nothing()
    """),
    Attack("engine-socket", """
        def talk():
            engine = socket.socket(socket.AF_UNIX)
            engine.connect(LAYOUT["socket"])
            return "connected"
        attempt("engine", talk)
        attempt("engine's file", lambda: read(LAYOUT["socket"]))
        nothing()
    """, as_user="engine"),
    Attack("other-trials", """
        scratch = os.path.dirname(os.path.dirname(HOME))
        time.sleep(0.5)
        attempt("listing", lambda: os.listdir(scratch))
        for pid in strangers():
            try: name = read(f"/proc/{pid}/cmdline")
            except OSError: continue
            attempt("arguments", lambda: name, lambda r: b"canary" in r)
        attempt("neighbours", lambda: [os.listdir(f"{scratch}/{n}") for n in os.listdir(scratch)])
        nothing()
    """),
    Attack("results", """
        attempt("results", lambda: os.listdir(LAYOUT["results"]))
        attempt("trials", lambda: open(LAYOUT["results"] + "/trials/00001.jsonl.gz", "a").write("{}\\n"))
        attempt("decision", lambda: open(LAYOUT["results"] + "/decision.v1.json", "w").write("{}"))
        nothing()
    """),
    Attack("abstract-sockets", """
        names = {line.split()[-1] for line in open("/proc/net/unix") if "@" in line}
        for name in names:
            def talk():
                peer = socket.socket(socket.AF_UNIX)
                peer.settimeout(0.2)
                peer.connect("\\0" + name[1:])
                return name
            if "gateval-canary" in name: attempt("abstract socket", talk)
        nothing()
    """),
    Attack("hard-links", """
        for n, path in enumerate((LAYOUT["workspace"] + "/.git/config", LAYOUT["event"],
                                  LAYOUT["home"] + "/.netrc", "/etc/shadow", "/etc/passwd-")):
            attempt("link", lambda: os.link(path, f"{HOME}/{n}") or read(f"{HOME}/{n}"))
        nothing()
    """),
    Attack("symbolic-links", """
        for n, path in enumerate((LAYOUT["workspace"], LAYOUT["home"])):
            os.symlink(path, f"{TMP}/{n}")
            attempt("through link", lambda: os.listdir(f"{TMP}/{n}"))
        os.rename(HOME, HOME + ".old")
        os.symlink(LAYOUT["workspace"], HOME)
        os.rename(TMP, TMP + ".old")
        os.symlink(LAYOUT["home"], TMP)
        nothing()
    """),
    Attack("open-by-handle", """
        # The handle of the root directory, as the "shocker" exploit of containers used it.
        class Handle(ctypes.Structure):
            _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("id", ctypes.c_ubyte * 8)]
        handle = Handle(8, 1, (ctypes.c_ubyte * 8)(2))
        root = os.open("/etc/hostname", os.O_RDONLY)
        attempt("handle", lambda: libc.open_by_handle_at(root, ctypes.byref(handle), 0), lambda r: r >= 0)
        nothing()
    """),
    Attack("devices-and-kernel", """
        for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore", "/dev/vda", "/dev/sda", "/proc/1/environ"):
            attempt(path, lambda: os.open(path, os.O_RDONLY))
        for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/fs/cgroup/cgroup.procs",
                     "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/kmsg", f"/proc/{os.getppid()}/oom_score_adj"):
            attempt(path, lambda: os.open(path, os.O_WRONLY))
        attempt("bpf", lambda: libc.syscall(321, 5, 0, 0), lambda r: r >= 0)
        attempt("module", lambda: libc.syscall(313, 0, b"", 0), lambda r: r == 0)
        attempt("swap", lambda: libc.swapoff(b"/dev/vda"), lambda r: r == 0)
        nothing()
    """),
    Attack("keyrings", """
        # keyctl(KEYCTL_SEARCH) in the session and the user keyring for the key that the gate's session has
        for ring in (-3, -4, -5):
            attempt("key", lambda: libc.syscall(250, 10, ring, b"user", b"gateval-canary", 0), lambda r: r > 0)
        nothing()
    """),
    Attack("own-environment-and-arguments", """
        text = read("/proc/self/environ") + read("/proc/self/cmdline") + repr(os.environ).encode()
        attempt("secret", lambda: text, lambda r: b"canary" in r)
        attempt("descriptor", lambda: [n for n in range(3, 300) if os.path.exists(f"/proc/self/fd/{n}")], bool)
        nothing()
    """),
)  # fmt: skip
