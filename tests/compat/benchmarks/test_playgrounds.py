"""Playgrounds and checks on their end state."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from gateval.domain.results.results import run_of
from tests.compat.rows import states
from tests.helpers.benchmarks import bench, manifest, ran
from tests.helpers.command import gateval
from tests.helpers.repo import Repo

AGENT = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  runtime: {type: command, command: [python3, support.py, "{playground}"]}
  watch: [support.py]
"""
SUPPORT = """\
import json, os, sqlite3, sys, urllib.request
os.chdir(sys.argv[1])
assert sorted(os.listdir(".")) == ["inbox", "shop.db"], os.listdir(".")
order = json.load(sys.stdin)["input"]["payload"]["entities"]["order"]
open(f"inbox/{order}.json", "w").write(json.dumps({"status": "refunded"}))
with sqlite3.connect("shop.db") as shop:
    shop.execute("UPDATE orders SET status = 'refunded' WHERE id = ?", (order,))
url = f"http://{os.environ['GATEVAL_SERVICE_PORTAL']}/{order}"
urllib.request.urlopen(urllib.request.Request(url, data=b"refunded")).close()
print(f"I am sorry. Order {order} is refunded.")
"""
PORTAL = """\
import http.server, sys
kept = {}
class Portal(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        self.wfile.write(kept.get(self.path, b"unknown"))
    def do_POST(self):
        kept[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Portal).serve_forever()
"""
PLAYGROUND = """\
playground:
  folder: world
  sqlite: {name: shop.db, source: shop.sql}
  services: [{name: portal, folder: portal, command: [python3, portal.py, "{port}"], ready: {path: /}}]
"""
TASKS = """\
tasks:
  - name: refund
    instruction: Refund it.
    entities: {order: "7"}
    criteria:
      - {label: file, axis: files, check: {type: fileJson, path: inbox/7.json, at: $.status, value: refunded}}
      - {label: only, axis: files, check: {type: directoryListing, path: inbox, entries: [7.json, welcome.txt]}}
      - {label: row, check: {type: sqlQuery, path: shop.db, query: "SELECT status FROM orders", value: refunded}}
      - {label: portal, check: {type: httpResponse, service: portal, path: /7, contains: refunded}}
      - {label: said, axis: tone, check: {type: transcriptContains, phrases: [I am sorry]}}
      - {label: unsaid, axis: tone, check: {type: transcriptForbids, phrases: [guarantee]}}
  - name: again
    instruction: Refund it.
    entities: {order: "7"}
    criteria:
      - {label: file, check: {type: fileExists, path: inbox/8.json}}
"""


def shop(path: Path) -> Repo:
    repo = bench(path / "shop")
    repo.write("agents/support.yaml", AGENT)
    repo.write("agents/support.py", SUPPORT)
    repo.write("bench/desk.yaml", manifest(TASKS, PLAYGROUND))
    repo.write("bench/world/inbox/welcome.txt", "Welcome.\n")
    repo.write("bench/shop.sql", "CREATE TABLE orders (id, status); INSERT INTO orders VALUES ('7', 'paid');")  # fmt: skip
    repo.write("bench/portal/portal.py", textwrap.dedent(PORTAL))
    repo.commit()
    return repo


@states("A playground is provisioned for a benchmark run",
        differs="each run of each task has one of its own, made anew from files of the repository, "
        "so that no task sees what another one did")  # fmt: skip
@states("The agent drives a rollout for each task against a provisioned playground")
@states("When a task run completes, each criterion is verified against the final sandbox state")
@states("An environment is made of simulators: FHIR, HL7, voice, fax, portals, files, X12, messages",
        differs="a playground has files, an SQLite database and services that are programs of the "
        "repository; no simulators come with the gate")  # fmt: skip
@states("Datasets hold entities, which tasks and criteria refer to",
        differs="a task says its `entities` by name, and the agent gets them with its input")  # fmt: skip
def test_criteria_look_at_the_end_state(tmp_path: Path) -> None:
    results = ran(shop(tmp_path))
    refund = next(one for one in results.trials if one.key.fixture == "desk.refund")
    assert [one.status.value for one in refund.assessments] == ["passed"] * 6, refund
    again = next(one for one in results.trials if one.key.fixture == "desk.again")
    assert (again.outcome.value, again.score) == ("fail", 0.0)


UNREADABLE = """\
tasks:
  - name: lost
    instruction: Leave it.
    criteria:
      - {label: file, axis: files, check: {type: fileExists, path: big}}
      - {label: text, axis: files, check: {type: fileMatches, path: big, pattern: x}}
      - {label: said, axis: tone, check: {type: contains, value: Never}}
  - name: found
    instruction: Leave it.
    criteria:
      - {label: file, axis: files, check: {type: fileExists, path: big}}
"""
LEAVE = (
    "import os, sys\nopen(os.path.join(sys.argv[1], 'big'), 'w').truncate(1 << 22)\nprint('x')\n"
)


def test_what_cannot_be_read_is_no_score_and_is_said_not_to_be_measured(tmp_path: Path) -> None:
    repo = shop(tmp_path)
    repo.write("agents/support.py", LEAVE)
    repo.write("bench/desk.yaml", manifest(UNREADABLE, PLAYGROUND))
    repo.commit()
    results = ran(repo)
    assert {one.task: one.score for one in run_of(results, results.plan.evals[0]).tasks} == {
        "lost": None,
        "found": 1.0,
    }
    said = " ".join((repo.path / "out" / "summary.txt").read_text().split())
    assert "desk@2, files: 1.00 in 1 of 2" in said
    assert "desk@2, tone: 0.00" in said
    assert "desk.lost (desk@2, medium): passed 0 of 1" in said
    assert "medium): scored" not in said
    assert ", score 0.00" not in said


@states("Assertion `sftp-file-present`: a file, and fields of it",
        differs="any file of the playground: `fileExists`, `fileEquals`, `fileMatches`, `fileJson`")  # fmt: skip
@states("Assertions `portal-state-match` and `fhir-resource-state`: what a simulator holds",
        differs="a service of the playground is asked: `httpResponse`; a database: `sqlQuery`")  # fmt: skip
@states("Assertion `voice-transcript`: phrases that are said or forbidden, by speaker and turn",
        differs="`transcriptContains` and `transcriptForbids`, letter by letter: no model decides "
        "whether a phrase was said")  # fmt: skip
@states("Assertions `hl7-structural` and `x12-response`: a message on the wire",
        differs="a call that the gate saw itself: `wireCall`; what a service keeps of a message: "
        "`httpResponse`")  # fmt: skip
def test_the_services_own_names_fail_and_say_so(tmp_path: Path) -> None:
    repo = shop(tmp_path)
    kinds = ("sftp-file-present", "portal-state-match", "voice-transcript", "x12-response")
    criteria = "".join(f"      - {{label: {one}, check: {{type: {one}}}}}\n" for one in kinds)
    tasks = f"tasks:\n  - name: refund\n    instruction: Hi\n    criteria:\n{criteria}"
    repo.write("bench/desk.yaml", manifest(tasks))
    repo.commit()
    plan = gateval(repo, "plan", "--json").stdout
    (refund,) = json.loads(plan)["evals"][0]["fixtures"]
    for kind, one in zip(kinds, refund["assertions"], strict=True):
        assert one["unsupported"].startswith(f'unsupported: there is no check of type "{kind}"')
