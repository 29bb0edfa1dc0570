"""Attacks that want to leave nothing for others."""

from __future__ import annotations

from tests.hostile.attacks.attack import Attack

EXHAUSTING = (
    Attack("fork-bomb", """
        while True:
            try: os.fork()
            except OSError: pass
    """, ends="", seconds=3),
    Attack("fork-bomb-of-sessions", """
        while True:
            try:
                if os.fork() == 0: os.setsid()
            except OSError: time.sleep(0.001)
    """, ends="", seconds=3),
    Attack("pid-runner", """
        # Each process lives just long enough to have a child: lists of processes are always late.
        end = time.time() + 60
        while time.time() < end:
            try:
                if os.fork(): os._exit(0)
            except OSError: pass
            os.setsid()
    """, ends="", either=True, seconds=3),
    Attack("thread-bomb", """
        threading.stack_size(65536)
        while True:
            try: threading.Thread(target=time.sleep, args=(60,)).start()
            except RuntimeError: time.sleep(0.01)
    """, ends="", seconds=3),
    Attack("memory", """
        hold = []
        while True:
            hold.append(bytearray(b"x") * (8 << 20)); time.sleep(0.004)
    """, ends="MEMORY_MIB"),
    Attack("memory-of-many", """
        for _ in range(8):
            if os.fork() == 0:
                hold = [bytearray(b"x") * (1 << 20) for _ in range(40)]; time.sleep(60)
        time.sleep(60)
    """, ends="MEMORY_MIB"),
    Attack("disk-one-file", """
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        with open(HOME + "/big", "wb") as file:
            while True: file.write(b"x" * (1 << 20))
    """, ends="", either=True),
    Attack("disk-many-files", """
        n = 0
        while True:
            open(f"{TMP}/{n}", "wb").write(b"x" * (1 << 20)); n += 1; time.sleep(0.003)
    """, ends="DISK_MIB"),
    Attack("sparse-terabyte", """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        attempt("terabyte", lambda: os.truncate(os.open(HOME + "/sparse", os.O_CREAT | os.O_RDWR), 1 << 40) or True)
        nothing()
    """),
    Attack("inodes", """
        for n in range(10_000):
            os.close(os.open(f"{HOME}/{n}", os.O_CREAT))
        nothing()
    """, either=True, ends=""),
    Attack("nested-10000", """
        os.chdir(TMP)
        for _ in range(10_000):
            os.mkdir("d"); os.chdir("d")
        open("leaf", "w").close()
        nothing()
    """, either=True, ends=""),
    Attack("odd-names", """
        for name in ("a\\nb", "-rf", "--", "..x", "\\t", "'", '"', "$(id)", "`id`", "*", "\\\\", "\\u202e", ";id"):
            os.mkdir(f"{HOME}/{name}"); open(f"{HOME}/{name}/{name}", "w").close()
        os.mkdir(os.fsencode(HOME) + b"/\\xff\\xfe")
        nothing()
    """),
    Attack("closed-folders", """
        os.makedirs(HOME + "/a/b/c"); open(HOME + "/a/b/c/d", "w").close()
        os.chmod(HOME + "/a/b", 0); os.chmod(HOME + "/a", 0); os.chmod(TMP, 0); os.chmod(HOME, 0)
        nothing()
    """),
    Attack("open-files", """
        held = []
        try:
            while True: held.append(os.dup(0))
        except OSError: pass
        attempt("descriptors", lambda: len(held), lambda n: n > 1024)
        nothing()
    """),
    Attack("output-1-gb", """
        for _ in range(16384): os.write(1, b"x" * 65536)
    """, ends="standard output"),
    Attack("errors-1-gb", """
        for _ in range(16384): os.write(2, b"x" * 65536)
    """, ends="standard error"),
    Attack("zombies", """
        for _ in range(60):
            try:
                if os.fork() == 0: os._exit(0)
            except OSError: break
        for _ in range(30): detach(lambda: None)
        nothing()
    """, either=True, ends=""),
    Attack("shared-memory-fill", """
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        with open(f"/dev/shm/fill-{HOUR}", "wb") as file:
            while True: file.write(b"x" * (1 << 20))
    """, ends="", either=True),
    Attack("fast-writer", """
        # Done before anybody looks.
        for n in range(3): open(f"{TMP}/{n}", "wb").write(b"x" * (30 << 20))
        nothing()
    """, ends="DISK_MIB"),
    Attack("fast-writer-in-shared-memory", """
        for n in range(3): open(f"/dev/shm/fast-{n}-{HOUR}", "wb").write(b"x" * (30 << 20))
        nothing()
    """, ends="DISK_MIB", disturbs=True),
    Attack("shared-memory-of-many-files", """
        n = 0
        while True:
            open(f"/dev/shm/many-{n}-{HOUR}", "wb").write(b"x" * (1 << 20)); n += 1; time.sleep(0.01)
    """, ends="DISK_MIB", disturbs=True),
    Attack("spinning", """
        if os.fork() == 0:
            while True: pass
        while True: pass
    """, ends="not done within", seconds=2),
)  # fmt: skip
