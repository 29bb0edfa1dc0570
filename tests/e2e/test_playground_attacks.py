"""Playgrounds through the real command: attacks on them, and that nothing of them is left."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.command import candidate_processes, start_gateval
from tests.helpers.desk import (
    AGENT,
    ASKED,
    SERVED,
    SERVICE,
    agent,
    desk,
    evals,
    run,
    trials,
)
from tests.helpers.isolation import open_folder
from tests.helpers.repo import Repo

ANSWERED = {
    "a link from the playground to a file of the gate, at the last step or on the way; a link that `files` or a database would be written through": "never followed: a link is no file; the trial is an error",
    "a FIFO, a socket, a file of a terabyte, 10,001 files, folders 2,000 deep, names that are no text": "told at once, nothing of it read; an error or a failure, never a pass",
    "a process that outlives the candidate and writes later": "killed before anything is looked at",
    "a database that is made to break SQLite; statements that attach other files": "SQLite runs in programs behind walls, on a copy, without keys",
    "a command that changes what other assertions see": "each works in a copy of its own",
    "a candidate that looks for what is expected, or for other playgrounds": "assertions, manifests and checks are in none; playgrounds are closed to other users",
    "a playground made so that doing nothing passes": "an edit of the bar; the target branch's version runs in the target branch's playground as well",
    "an Agent's files declared a playground, so that their changes no longer count": "a file that leaves its Agent is a change of it",
    "a service or statements that fail on purpose": "`error` of the check, and never a pass",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return desk(tmp_path)


def test_what_a_hostile_candidate_leaves_is_looked_at_when_it_is_gone(repo: Repo) -> None:
    asked = (
        "{type: not, assertions: [{type: fileExists, path: late}]}",
        "{type: fileEquals, path: hosts, value: ''}",
        "{type: fileMatches, path: fifo, pattern: .}",
        "{type: fileExists, path: 'out/passwd'}",
        "{type: directoryListing, entries: [fifo, hosts, orders.json, out]}",
    )
    repo.write("desk/evals.yaml", evals(*asked))
    agent(
        repo,
        """\
        import os, sys, time
        os.chdir(sys.argv[1])
        os.symlink("/etc/hosts", "hosts")
        os.symlink("/etc", "out")
        os.mkfifo("fifo")
        if os.fork() == 0:
            os.setsid()
            os.close(1), os.close(2)
            time.sleep(3)
            open("late", "w").write("x")
            time.sleep(60)
        print("Done.")
        """,
    )
    repo.commit()
    began = time.monotonic()
    (trial,) = trials(repo, "run", "desk-eval", code=1)
    assert time.monotonic() - began < 60
    said = [one["status"] for one in trial["assessments"]]
    assert said == ["passed", "failed", "failed", "failed", "passed"]
    assert "a symbolic link, which is not followed" in trial["assessments"][1]["reason"]


def test_statements_reach_nothing_but_their_database(repo: Repo, tmp_path: Path) -> None:
    target = tmp_path / "escaped.db"
    tmp_path.chmod(0o777)
    ground = "{sqlite: {source: shop.sql}}"
    asked = "{type: sqlQuery, query: SELECT b FROM a, value: 1}"
    repo.write("desk/evals.yaml", evals(asked, playground=ground))
    repo.write("desk/shop.sql", f"ATTACH '{target}' AS x; CREATE TABLE x.a (b);")
    agent(repo, "print('Done.')\n")
    trial = run(repo, 3)
    assert (trial["outcome"], trial["cause"]) == ("error", "check")
    assert "The playground could not be made. What makes the database ended" in trial["reason"]
    assert not target.exists()
    repo.write("desk/shop.sql", "CREATE TABLE a (b); INSERT INTO a VALUES (1);")
    assert run(repo)["outcome"] == "pass"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_none_is_left_of_a_run_that_is_stopped(
    repo: Repo, tmp_path: Path, number: signal.Signals
) -> None:
    repo.write("desk/served/shop.py", SERVICE)
    repo.write("desk/served/orders.json", "{}")
    repo.write("desk/evals.yaml", evals(ASKED, playground=SERVED))
    agent(repo, "import time\ntime.sleep(60)\n")
    repo.commit()
    started = start_gateval(repo, "run", "desk-eval", "--results", str(tmp_path / "out"))
    home, deadline = tmp_path / "home", time.monotonic() + 90
    while not candidate_processes(tmp_path) or len(list(home.glob("gateval-*/playground-*"))) < 2:
        assert time.monotonic() < deadline
        assert started.poll() is None
        time.sleep(0.02)
    os.kill(started.pid, number)
    started.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while candidate_processes(tmp_path) or any(home.glob("gateval-*")):
        assert time.monotonic() < deadline
        time.sleep(0.05)


LOCKED = """\
import os, sqlite3, sys, urllib.request
root = sys.argv[1]
for path in (root, root + "/orders.json", root + "/deep"):
    assert os.stat(path).st_uid == os.getuid() != 0, path
os.chdir(root)
os.makedirs("deep/locked")
open("deep/locked/note", "w").write("x")
os.chmod("deep/locked/note", 0)
os.chmod("deep/locked", 0)
with sqlite3.connect("shop.db") as shop:
    shop.execute("UPDATE a SET b = 2")
others = [one for one in os.listdir(os.path.dirname(root))] if os.access(os.path.dirname(root), os.R_OK) else []
assert others == [], others
url = "http://" + os.environ["GATEVAL_SERVICE_SHOP"]
urllib.request.urlopen(urllib.request.Request(url, method="PUT")).close()
print("Done.")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives users of their own")
def test_behind_walls_with_users_of_their_own_all_is_looked_at_and_removed() -> None:
    ground = (
        "{folder: world, sqlite: {name: shop.db, source: shop.sql}, services: [{name: shop, "
        "folder: served, command: [python3, shop.py, '{port}'], ready: {path: /}}]}"
    )
    asked = (
        "{type: fileEquals, path: deep/locked/note, value: x}",
        "{type: sqlQuery, path: shop.db, query: SELECT b FROM a, value: 2}",
        "{type: commandResult, command: [sh, -c, 'cat deep/*/note; touch n; id -u'], stdoutMatches: '^x[1-9]'}",
        "{type: directoryListing, entries: [deep/, orders.json, shop.db]}",
        ASKED,
    )
    with open_folder() as folder:
        shop = Repo(folder / "repo")
        shop.write("desk/agent.yaml", AGENT)
        shop.write("desk/agent.py", LOCKED)
        shop.write("desk/world/orders.json", "{}")
        shop.write("desk/world/deep/.keep", "")
        shop.write("desk/shop.sql", "CREATE TABLE a (b); INSERT INTO a VALUES (1);")
        shop.write("desk/served/shop.py", SERVICE)
        shop.write("desk/served/orders.json", "{}")
        shop.write("desk/evals.yaml", evals(*asked, playground=ground, reps=2))
        shop.commit()
        arguments = ("run", "desk-eval", "--results", str(folder / "out"))
        started = start_gateval(shop, *arguments, command=[sys.executable, "-P", "-m", "gateval"])
        said = "".join(started.communicate(timeout=120))
        assert started.returncode == 0, said
        assert "own user per candidate" in said
        assert list((folder / "home").glob("gateval-*")) == []
