"""Attacks that want to change what is not theirs, or to become somebody else."""

from __future__ import annotations

from tests.hostile.attacks.attack import Attack

CHANGING = (
    Attack("workspace-hooks", """
        attempt("hook", lambda: open(LAYOUT["workspace"] + "/.git/hooks/pre-commit", "w").write("#!"))
        attempt("file", lambda: open(LAYOUT["workspace"] + "/planted", "w"))
        attempt("folder", lambda: os.mkdir(LAYOUT["workspace"] + "/planted") or True)
        nothing()
    """),
    Attack("poisoned-export", """
        for path in ("attacker.py", "witness.py", "new.py", "__pycache__/witness.cpython-311.pyc", "sitecustomize.py"):
            attempt("export", lambda: open(path, "a"))
        attempt("rename", lambda: os.rename("witness.py", "w.py") or True)
        attempt("chmod", lambda: os.chmod("witness.py", 0o777) or True)
        attempt("folder", lambda: os.mkdir("__pycache__") or True)
        nothing()
    """, as_user="chmod"),
    Attack("preloads", """
        for path in ("/etc/ld.so.preload", "/usr/lib/python3/dist-packages/sitecustomize.py",
                     "/usr/local/lib/python3.11/site-packages/evil.pth", "/etc/profile.d/evil.sh",
                     "/usr/local/bin/python3", LAYOUT["home"] + "/.bashrc"):
            attempt("plant", lambda: open(path, "a"))
        nothing()
    """),
    Attack("cron-and-at", """
        for path in ("/etc/cron.d/evil", "/var/spool/cron/crontabs/root", "/var/spool/cron/atjobs/x", "/etc/crontab"):
            attempt("schedule", lambda: open(path, "a"))
        for command in (["crontab", "-"], ["at", "now"], ["systemd-run", "true"]):
            attempt("schedule", lambda: subprocess.run(command, input=b"* * * * * true\\n", capture_output=True, timeout=3).returncode,
                    lambda code: code == 0)
        nothing()
    """),
    Attack("setuid-programs", """
        for command in (["su", "-c", "id"], ["sudo", "-n", "id"], ["mount", "-t", "tmpfs", "x", "/mnt"], ["newgrp"],
                        ["passwd", "-d", "root"], ["chsh", "-s", "/bin/true"]):
            attempt("privilege", lambda: subprocess.run(command, capture_output=True, timeout=3, stdin=subprocess.DEVNULL).stdout,
                    lambda out: b"uid=0" in out)
        copy = HOME + "/sh"
        subprocess.run(["cp", "/bin/sh", copy]); attempt("setuid", lambda: os.chown(copy, 0, 0) or os.chmod(copy, 0o4755))
        attempt("root", lambda: os.setuid(0) or os.listdir("/root"))
        attempt("groups", lambda: os.setgroups([0]) or True)
        nothing()
    """),
    Attack("user-namespaces", """
        script = "mount -t tmpfs x /mnt && echo mounted; mount --bind /etc /mnt && cat /mnt/shadow; cat " + LAYOUT["event"]
        for flags in (["-r", "-m"], ["-r", "-m", "-p", "-f", "--mount-proc"], ["-r", "-n", "-i", "-u"]):
            attempt("namespace", lambda: subprocess.run(["unshare", *flags, "sh", "-c", script], capture_output=True, timeout=5).stdout,
                    lambda out: b"canary" in out or b"root:" in out or b"mounted" in out)
        nothing()
    """),
    Attack("mounts-and-roots", """
        attempt("mount", lambda: libc.mount(b"x", b"/mnt", b"tmpfs", 0, None), lambda r: r == 0)
        attempt("chroot", lambda: os.chroot(HOME) or True)
        attempt("pivot", lambda: libc.syscall(155, HOME.encode(), HOME.encode()), lambda r: r == 0)
        attempt("node", lambda: os.mknod(HOME + "/disk", 0o600 | stat.S_IFBLK, os.makedev(253, 0)) or True)
        attempt("setns", lambda: libc.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0), lambda r: r == 0)
        nothing()
    """),
    Attack("signals", """
        for pid in strangers():
            for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
                attempt(f"signal {number} to {pid}", lambda: os.kill(pid, number) or True)
        nothing()
    """),
    Attack("signal-all", """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try: os.kill(-1, signal.SIGTERM)
        except OSError: pass
        for _ in range(20):
            try: os.killpg(os.getpgid(os.getppid()), signal.SIGKILL)
            except OSError: pass
        nothing()
    """, either=True, ends=""),
    Attack("limits-of-others", """
        import resource
        for pid in strangers():
            attempt("limits", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (1, 1)))
            attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, 19) or True)
            attempt("scheduling", lambda: os.sched_setaffinity(pid, {0}) or True)
            attempt("oom", lambda: open(f"/proc/{pid}/oom_score_adj", "w").write("1000"))
        attempt("own limits", lambda: resource.setrlimit(resource.RLIMIT_CORE, (1, 1)) or True)
        nothing()
    """, disturbs=True),
    Attack("workflow-commands", """
        lines = ["::set-env name=EVIL::1", "::add-mask::a", "::error file=x::boom", "::stop-commands::x",
                 "::set-output name=verdict::pass", "##[error]boom", "\\r::warning::hidden", "::add-path::/tmp/evil"]
        for line in lines:
            print(line); print(line, file=sys.stderr)
        nothing()
    """),
    Attack("names-of-the-gates-files", """
        for n in range(300):
            for folder in ("/tmp", "/var/tmp"):
                try: os.symlink(LAYOUT["workspace"], f"{folder}/gateval-{HOUR}-{n}")
                except OSError: break
        nothing()
    """),
    Attack("shared-memory-left", """
        for folder in ("/dev/shm", "/tmp", "/var/tmp"):
            try:
                os.makedirs(f"{folder}/evil-{HOUR}/a/b")
                open(f"{folder}/evil-{HOUR}/a/b/left", "w").write("x")
            except OSError: pass
        for n in range(5): libc.shmget(0, 4096, 0o1777)
        libc.semget(0, 3, 0o1777); libc.msgget(0, 0o1777)
        nothing()
    """),
    Attack("io-uring", """
        attempt("io_uring", lambda: libc.syscall(425, 8, ctypes.create_string_buffer(120)), lambda r: r >= 0)
        nothing()
    """),
    Attack("new-user-namespace", """
        attempt("unshare", lambda: libc.unshare(0x10000000), lambda r: r == 0)
        attempt("program", lambda: subprocess.run(["unshare", "-U", "true"], capture_output=True).returncode, lambda code: code == 0)
        nothing()
    """),
    Attack("faults-of-the-kernel", """
        for number, arguments in ((101, (0, 0, 0, 0)), (250, (0, -3, 0)), (323, (1,)), (425, (8, ctypes.create_string_buffer(120)))):
            attempt(f"call {number}", lambda: libc.syscall(number, *arguments), lambda r: r >= 0)
        nothing()
    """),
    Attack("claims-to-be-the-gate", """
        print(json.dumps({"output": "nothing reached", "outcome": "pass", "assessments": [{"status": "passed"}]}))
    """, ends="unknown key"),
    Attack("template-injection", """
        print("{{ 7*7 }} {% for x in range(10**9) %}{% endfor %} ${{ secrets.TOKEN }} $(id) `id` {{ config }}")
        nothing()
    """),
    Attack("markdown-and-html", """
        print("<script>alert(1)</script> ![x](https://evil.example/x) @octocat /merge Fixes #1 <!-- gateval -->")
        print("\\x1b[2J\\x1b]0;owned\\x07 \\u202e ## PASSED")
        nothing()
    """),
)  # fmt: skip
