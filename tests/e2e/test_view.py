"""`gateval view`: who is answered, what is never said, what is written, and when it is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.helpers.calibrations import judged_shop, verdict
from tests.helpers.command import gateval
from tests.helpers.made_once import made_once
from tests.helpers.page import ReadPage
from tests.helpers.repo import Repo
from tests.helpers.viewing import Viewed, viewing

ASKED = {"page": "index.html"}


@made_once
def _shop(path: Path) -> Repo:
    """A shop whose last run has verdicts that nobody shares."""
    repo = judged_shop(path, wrong=0, agent=verdict(0.0, "Hello"))
    repo.git("config", "user.email", "jane@example.com")
    done = gateval(repo, "run", "support-eval")
    assert done.returncode in {1, 3}, done.stdout + done.stderr
    return repo


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return _shop(tmp_path / "shop")


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """One that no test changes."""
    return _shop(tmp_path_factory.mktemp("view") / "shop")


@pytest.fixture(scope="module")
def viewed(looked_at: Repo) -> Iterator[Viewed]:
    with viewing(looked_at) as found:
        yield found


def last_run(shop: Repo) -> str:
    return max(one.name for one in (shop.path / ".gateval/results").iterdir() if one.is_dir())


def test_the_first_page_holds_nothing_and_the_token_opens_the_rest(
    looked_at: Repo, viewed: Viewed
) -> None:
    first = viewed.send("GET", "/", Host=viewed.host)
    assert first.status == 200
    assert viewed.token not in first.text
    assert "support-eval" not in first.text
    history = viewed.ask("/page", ASKED)
    assert history.status == 200
    assert "support-eval" in ReadPage(history.text).text
    run = last_run(looked_at)
    report = viewed.ask("/page", {"page": f"runs/{run}.html"})
    written = looked_at.path / ".gateval/results" / run / "report.html"
    assert report.text == written.read_text(), "the same page as the file"
    assert json.loads(viewed.ask("/runs", {}).text)["runs"][0]["run"] == run


def test_the_page_that_a_run_wrote_is_shown_and_no_other(tmp_path: Path) -> None:
    """It is not made again, whatever the size of the run; one that somebody edited is."""
    shop = _shop(tmp_path / "edited")
    folder = shop.path / ".gateval/results" / last_run(shop)
    page = folder / "report.html"
    written = page.read_text()
    segments = {one: one.read_bytes() for one in (folder / "trials").glob("*.jsonl.gz")}
    segments.pop(folder / "trials/compared.jsonl.gz")
    assert segments
    with viewing(shop) as viewed:
        asked = {"page": f"runs/{folder.name}.html"}
        for one in segments:
            one.unlink()
        assert viewed.ask("/page", asked).text == written
        for one, content in segments.items():
            one.write_bytes(content)
        page.write_text(written.replace("support-eval", "forged-eval"))
        assert viewed.ask("/page", asked).text == written
        page.unlink()
        assert viewed.ask("/page", asked).text == written


HOSTS = (
    "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "localhost", "[::1]:{port}",
    "0.0.0.0:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.2:{port}", "LOCALHOST:{port}@evil",
    "",
)  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_a_name_that_was_bound_anew_reads_nothing(viewed: Viewed, host: str) -> None:
    """DNS rebinding: the page is evil's, and so is the name it calls, which now means us."""
    port = viewed.host.partition(":")[2]
    called = host.format(port=port)
    assert viewed.send("GET", "/", b"", **({"Host": called} if called else {})).status == 404
    answer = viewed.ask("/page", ASKED, Host=called, Origin=f"http://{called}")
    assert (answer.status, answer.text) == (403, "Only its own page may ask this.")


def test_two_hosts_are_none(viewed: Viewed) -> None:
    assert viewed.send("GET", "/", Host=viewed.host, host="evil.example").status == 404


@pytest.mark.parametrize(
    "origin", ["", "null", "https://evil.example", "http://127.0.0.1", "https://{host}", "file://"]
)
def test_no_other_page_has_anything_done(looked_at: Repo, viewed: Viewed, origin: str) -> None:
    """CSRF: even with the token, which no other page knows."""
    said = {"run": last_run(looked_at), "fixture": "support-eval/kind-word", "repetition": 1}
    label = {**said, "score": 1, "reason": "judgeWrong", "note": "no"}
    before = looked_at.git("status", "--porcelain")
    answer = viewed.ask("/label", label, Origin=origin.format(host=viewed.host))
    assert answer.status == 403
    assert viewed.ask("/label", label, Sec_Fetch_Site="cross-site").status == 403
    assert viewed.ask("/label", label, Sec_Fetch_Site="same-site").status == 403
    assert looked_at.git("status", "--porcelain") == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Content_Type": "text/plain"},
        {"Content_Type": "application/x-www-form-urlencoded"},
        {"Content_Type": "multipart/form-data; boundary=x"},
        {"Content_Type": ""},
        {"Content_Length": "9999999"},
        {"Content_Length": "-1"},
        {"Content_Length": ""},
    ],
)
def test_what_a_form_can_send_is_no_request(viewed: Viewed, headers: dict[str, str]) -> None:
    assert viewed.ask("/page", ASKED, **headers).status == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"nope", b"[" * 50_000])
def test_a_body_that_is_none_is_no_fault(viewed: Viewed, body: bytes) -> None:
    assert viewed.ask("/page", body).status == 400
    assert viewed.ask("/page", ASKED).status == 200


@pytest.mark.parametrize(
    "given",
    ["", "Bearer ", "Bearer x", "{token}", "Basic {token}", "Bearer {token}x", "Bearer \xff"],
)
def test_without_the_token_nobody_reads(viewed: Viewed, given: str) -> None:
    told = given.format(token=viewed.token)
    for path in ("/page", "/runs", "/label"):
        assert viewed.ask(path, ASKED, Authorization=told).status == 401
    assert viewed.send("GET", f"/?token={viewed.token}", Host=viewed.host).status == 404


@pytest.mark.parametrize("path", ["/page", "/runs", "/x", "/../etc/passwd", "//evil.example/"])
def test_a_get_reads_the_first_page_alone(viewed: Viewed, path: str) -> None:
    authorization = f"Bearer {viewed.token}"
    assert viewed.send("GET", path, Host=viewed.host, Authorization=authorization).status == 404


def test_other_methods_are_none(viewed: Viewed) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "HEAD"):
        answer = viewed.send(method, "/", Host=viewed.host, Origin="https://evil.example")
        assert answer.status == 501
        assert not any("access-control" in one for one in answer.headers)


@pytest.mark.parametrize(
    "page",
    [
        "", "..", "runs/", "runs/nope.html", "runs/../../evals/support-eval.yaml", "compare/a",
        "runs/%2e%2e.html", "compare/nope/nope", "compare/--output=x/HEAD", "\x00", "x" * 60_000,
    ],
)  # fmt: skip
def test_a_page_that_is_none_is_a_sentence(viewed: Viewed, page: str) -> None:
    answer = viewed.ask("/page", {"page": page})
    assert answer.status == 422
    assert "Traceback" not in answer.text
    assert answer.text.rstrip().endswith((".", "anew."))


def test_headers_keep_it_from_everybody_else(viewed: Viewed) -> None:
    answers = [
        viewed.send("GET", "/", Host=viewed.host),
        viewed.send("GET", "/nope", Host=viewed.host),
        viewed.ask("/page", ASKED),
        viewed.ask("/page", ASKED, Authorization=""),
    ]
    for answer in answers:
        told = answer.headers
        assert told["x-content-type-options"] == "nosniff"
        assert told["x-frame-options"] == "DENY"
        assert told["referrer-policy"] == "no-referrer"
        assert told["cross-origin-resource-policy"] == "same-origin"
        assert told["cross-origin-opener-policy"] == "same-origin"
        assert told["cache-control"] == "no-store"
        assert "Python" not in told["server"]
        policy = told["content-security-policy"]
        assert policy.startswith("default-src 'none'; ")
        assert "frame-ancestors 'none'" in policy
        assert "trusted-types 'none'" in policy
        assert "unsafe" not in policy
        assert "access-control-allow-origin" not in told
        assert "set-cookie" not in told


def test_it_listens_on_this_machine_alone_and_its_command_line_holds_no_token(
    shop: Repo,
) -> None:
    with viewing(shop) as viewed:
        port = int(viewed.host.partition(":")[2])
        listening = [
            line.split()[1]
            for table in ("/proc/net/tcp", "/proc/net/tcp6")
            for line in Path(table).read_text().splitlines()[1:]
            if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
        ]
        assert listening == [f"0100007F:{port:04X}"]
        words = [
            (one / "cmdline").read_bytes() + (one / "environ").read_bytes()
            for one in Path("/proc").glob("[0-9]*")
            if (one / "cmdline").exists() and b"view" in (one / "cmdline").read_bytes()
        ]
        assert words
        assert not any(viewed.token.encode() in one for one in words)
        viewed.ask("/page", ASKED)
        files = [one.read_bytes() for one in shop.path.parent.rglob("*") if one.is_file()]
        assert not any(viewed.token.encode() in one for one in files)


def test_a_label_is_written_as_challenge_writes_it(shop: Repo, tmp_path: Path) -> None:
    twin = Repo.clone(shop.path, tmp_path / "twin")
    run = last_run(shop)
    label = {
        "run": run, "fixture": "support-eval/kind-word", "repetition": 1, "score": 1,
        "reason": "rubricWrong", "note": "It says hello: that is kind",
    }  # fmt: skip
    with viewing(shop) as viewed:
        answer = viewed.ask("/label", label)
        again = viewed.ask("/label", label)
    assert answer.status == 200, answer.text
    assert ": the judge gave 0.00, you give 1 (rubricWrong)." in answer.text
    assert (again.status, "already" in again.text) == (422, True)
    twin.git("config", "user.email", "jane@example.com")
    words = ("--score", "1", "--reason", "rubricWrong", "--note", label["note"])
    results = str(shop.path / ".gateval/results" / run)
    done = gateval(twin, "challenge", "support-eval/kind-word", "--run", results, *map(str, words))
    assert done.returncode == 0, done.stderr
    changed = shop.git("status", "--porcelain").decode().split()[1]
    mine, theirs = ((one.path / changed).read_text() for one in (shop, twin))
    stamp = [line for line in mine.splitlines() if "promotedAt" in line]
    assert [line for line in mine.splitlines() if line not in stamp] == [
        line for line in theirs.splitlines() if "promotedAt" not in line
    ]


def test_who_agrees_with_the_judge_objects_to_nothing(shop: Repo) -> None:
    label = {
        "run": last_run(shop), "fixture": "support-eval/kind-word", "repetition": 1, "score": 0,
        "reason": "judgeWrong", "note": "It is rude",
    }  # fmt: skip
    with viewing(shop) as viewed:
        answer = viewed.ask("/label", label)
    assert (answer.status, ", you give 0, and so agree." in answer.text) == (200, True), answer.text
    changed = shop.git("status", "--porcelain").decode().split()[1]
    example = yaml.safe_load((shop.path / changed).read_text())["spec"]["examples"][-1]
    assert (example["humanScore"], example["humanLabel"]) == (0.0, "It is rude")
    assert "disagreementReason" not in example


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"run": "../x"}, "A label names"),
        ({"score": 0.5}, "A label names"),
        ({"score": "1"}, "A label names"),
        ({"score": True}, "A label names"),
        ({"repetition": "1"}, "A label names"),
        ({"reason": "nobody"}, "A label names"),
        ({"note": "  "}, "Say why"),
        ({"fixture": "support-eval/nope"}, "No judge said anything"),
        ({"repetition": 99}, "No judge said anything"),
    ],
)
def test_a_label_that_is_none_writes_nothing(
    looked_at: Repo, viewed: Viewed, wrong: dict[str, object], said: str
) -> None:
    before = looked_at.git("status", "--porcelain")
    label = {
        "run": last_run(looked_at), "fixture": "support-eval/kind-word", "repetition": 1, "score": 1,
        "reason": "judgeWrong", "note": "kind", **wrong,
    }  # fmt: skip
    answer = viewed.ask("/label", label)
    assert (answer.status, said in answer.text) == (422, True), answer.text
    assert looked_at.git("status", "--porcelain") == before


@pytest.mark.parametrize("ci", [{"CI": "true"}, {"CI": "1"}, {"GITHUB_ACTIONS": "true"}])
def test_it_is_refused_in_ci(shop: Repo, ci: dict[str, str]) -> None:
    done = gateval(shop, "view", **ci)
    assert done.returncode == 2
    assert "This is a job in CI" in done.stderr
    assert "token" not in done.stdout


SUPERVISED = """\
import subprocess, sys
guard = "import subprocess; subprocess.run(['sh', '-c', 'echo ready; exec sleep 600'])"
subprocess.run([sys.executable, "-c", guard])
"""


@contextmanager
def candidate(*before: str) -> Iterator[None]:
    """A stand-in for a candidate: below the child of what says that it is a supervisor."""
    words = [sys.executable, "-c", SUPERVISED, "gateval.candidates.isolation.supervisor"]
    with subprocess.Popen([*before, *words], stdout=subprocess.PIPE, start_new_session=True) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
        try:
            yield
        finally:
            os.killpg(one.pid, 9)


def test_it_is_refused_beside_a_candidate_of_the_same_user(shop: Repo) -> None:
    with candidate():
        done = gateval(shop, "view")
    assert done.returncode == 2
    assert "A run is measuring here" in done.stderr
    assert "token" not in done.stdout


def test_it_answers_nothing_while_a_candidate_of_the_same_user_lives(shop: Repo) -> None:
    with viewing(shop) as viewed:
        assert viewed.ask("/page", ASKED).status == 200
        with candidate(*viewed.enter):
            answer = viewed.ask("/page", ASKED)
            assert answer.status == 503
            assert "support-eval" not in answer.text
        until = time.monotonic() + 30
        while (answer := viewed.ask("/page", ASKED)).status != 200:
            assert time.monotonic() < until, answer


def test_a_run_that_is_named_is_opened_first(shop: Repo) -> None:
    run = last_run(shop)
    with viewing(shop, run) as viewed:
        assert json.loads(viewed.ask("/runs", {}).text)["first"] == f"runs/{run}.html"
    done = gateval(shop, "view", "20200101-000000-0000")
    assert (done.returncode, "There is no run" in done.stderr) == (2, True)


def test_two_revisions_are_side_by_side(shop: Repo) -> None:
    run = last_run(shop)
    with viewing(shop) as viewed:
        page = viewed.ask("/page", {"page": f"compare/{run}/{run}"})
        assert page.status == 200, page.text
        assert "equal results" in ReadPage(page.text).text
        assert ReadPage(page.text).text.count(f"the run {run} (") == 1
        heat = viewed.ask("/page", {"page": "heat.html"})
        assert f"runs/{run}.html#support-eval/kind-word" in heat.text
