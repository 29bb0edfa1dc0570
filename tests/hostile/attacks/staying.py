"""Attacks that want to stay when they are told to go."""

from __future__ import annotations

from tests.hostile.attacks.attack import Attack

STAYING = (
    Attack("ignores-sigterm", """
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: time.sleep(60)
    """, ends="not done within", seconds=2),
    Attack("stops-itself", "os.kill(os.getpid(), signal.SIGSTOP)", ends="not done within", seconds=2),
    Attack("never-answers", "time.sleep(int(HOUR))", ends="not done within", seconds=2),
    Attack("daemon", "detach(lambda: time.sleep(int(HOUR))); nothing()"),
    Attack("daemon-without-marks", """
        detach(lambda: os.execve("/bin/sleep", ["sleep", HOUR], {}))
        detach(lambda: os.execve("/bin/sleep", ["[kworker/0:1]", HOUR], {}))
        time.sleep(0.1); nothing()
    """),
    Attack("stopped-daemon", """
        detach(lambda: os.kill(os.getpid(), signal.SIGSTOP))
        time.sleep(0.1); nothing()
    """),
    Attack("daemon-that-holds-the-pipes", """
        def hold():
            while True:
                try: os.write(2, b"still here\\n")
                except OSError: pass
                time.sleep(0.01)
        detach(hold); nothing()
    """),
    Attack("daemons-that-guard-each-other", """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        def guard():
            while True:
                child = os.fork()
                if child:
                    try: os.waitpid(child, 0)
                    except OSError: time.sleep(0.001)
        detach(guard); detach(guard); time.sleep(0.05); nothing()
    """, either=True, ends=""),
    Attack("daemon-in-namespaces", """
        for flags in ("-rpf", "-rUmf", "-rin"):
            detach(lambda: os.execvp("unshare", ["unshare", flags, "sleep", HOUR]))
        time.sleep(0.3); nothing()
    """),
    Attack("child-of-the-parent", """
        # clone(CLONE_PARENT): the child is our sibling, and the guard's child
        for _ in range(3):
            if libc.syscall(56, 0x8000 | 17, 0, 0, 0, 0) == 0:
                os.setsid(); time.sleep(int(HOUR)); os._exit(0)
        nothing()
    """),
    Attack("holds-ports", """
        doors = []
        def listen():
            for _ in range(20):
                door = socket.socket(); door.bind(("0.0.0.0", 0)); door.listen(); doors.append(door)
            time.sleep(int(HOUR))
        detach(listen); time.sleep(0.1); nothing()
    """),
    Attack("closes-its-output", "os.close(1); os.close(2); time.sleep(int(HOUR))", ends="not done within", seconds=2),
    Attack("becomes-another-program", """
        detach(lambda: os.execvp("sh", ["sh", "-c", "trap '' TERM HUP; while :; do sleep 1000; done"]))
        print("nothing reached", flush=True)
        os.execvp("sh", ["sh", "-c", "exit 0"])
    """),
    Attack("sheds-the-marker-in-place", """
        # Overwrites its own environment where /proc/PID/environ shows it.
        fields = read("/proc/self/stat").rsplit(b")", 1)[1].split()
        start, end = int(fields[47]), int(fields[48])
        if end > start: ctypes.memset(start, 0, end - start)
        detach(lambda: time.sleep(int(HOUR))); nothing()
    """),
)  # fmt: skip
