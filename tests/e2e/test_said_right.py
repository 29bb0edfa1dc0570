"""What the views say of a run: counted right, by its cause, and in the same words everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.github_shop import SAME, WORSE
from tests.helpers.providers import provider
from tests.helpers.shop import EVAL, FIXTURES, build_shop
from tests.servers.model_server import Answer, Call, failure, reply

ASKS_WHY, GREETS = FIXTURES.split("---\n")


def eight(asks: str = "clarify_reason") -> str:
    """Eight fixtures that a rude prompt fails; the first asks for this tool."""
    named = [ASKS_WHY.replace("refund-asks-why", f"asks-{number}") for number in range(8)]
    named[0] = named[0].replace("tool: clarify_reason", f"tool: {asks}")
    return "---\n".join(named)


def test_a_fixture_counts_once_however_many_versions_of_it_regress(tmp_path: Path) -> None:
    """One of them is edited, so head is held against the target branch's version as well."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    shop.write("evals/fixtures.yaml", eight())
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.1}\n")
    shop.commit()
    shop.branch("worse")
    shop.write("evals/fixtures.yaml", eight() + "    - {type: notContains, value: Refunded}\n")
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.05}\n")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    done = gateval(shop, "check", "--base", "main")
    assert done.returncode == 1, done.stdout + done.stderr
    first = " ".join(done.stdout.split("Head")[0].split())
    assert "8 fixtures passed before and fail now" in first, done.stdout


PARTLY = GREETS.replace(
    "    - {type: contains, value: Hello}\n",
    "    - {type: contains, value: Hello, weight: 3}\n"
    "    - {type: contains, value: Goodbye, weight: 2}\n",
)


@pytest.mark.parametrize("model", ["fixtures", "weighted"])
def test_a_fixture_has_one_score_everywhere(tmp_path: Path, model: str) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write("evals/fixtures.yaml", PARTLY)
    shop.write("evals/support-eval.yaml", EVAL + f"  scoring: {{model: {model}, passScore: 0.9}}\n"
               if model == "weighted" else EVAL)  # fmt: skip
    shop.commit()
    ran = gateval(shop, "run", "support-eval")
    assert "score 0.60" in ran.stdout, ran.stdout + ran.stderr
    (folder,) = (shop.path / ".gateval/results").glob("2*")
    assert "score 0.60" in (folder / "comment.md").read_text().lower()
    (greets,) = json.loads(gateval(shop, "get", "eval", "support-eval", "-o", "json").stdout)[
        "fixtureResults"
    ]
    assert (greets["score"], greets["result"]) == ("0.60", "Fail")
    (row,) = json.loads(gateval(shop, "get", "fixtures", "-o", "json").stdout)
    assert [one["score"] for one in row["results"]] == ["0.60"]
    assert "score 0.60" in gateval(shop, "show", "greets").stdout
    junit = (folder / "junit.xml").read_text()
    assert "score 0.60" in junit


WAVERING = """\
seed: SEED
rules:
  - when: {user: Hello}
    reply: Hello!
    probability: 0.6
  - reply: Go away.
"""


def test_after_a_close_threshold_every_view_has_the_score_that_decides(tmp_path: Path) -> None:
    """The first repetition fails, and of three two pass."""
    shop = build_shop(tmp_path / "shop")
    shop.write("evals/fixtures.yaml", GREETS)
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.5}\n")
    shop.write(".gateval/scripted/support.yaml", WAVERING.replace("SEED", "5"))
    shop.commit()
    ran = gateval(shop, "run", "support-eval")
    (folder,) = (shop.path / ".gateval/results").glob("2*")
    results = json.loads((folder / "results.v1.json").read_text())
    assert [one["outcome"] for one in results["trials"]] == ["fail", "pass", "pass"]
    assert "0.67" in ran.stdout, ran.stdout
    told = json.loads(gateval(shop, "get", "eval", "support-eval", "-o", "json").stdout)
    assert told["lastScore"] == "0.67"
    assert [one["score"] for one in told["fixtureResults"]] == ["0.67"]
    assert "0.67" in gateval(shop, "history", "support-eval").stdout
    assert "score 0.67" in gateval(shop, "show", "greets").stdout
    assert "0.67" in gateval(shop, "compare", "HEAD", "HEAD").stdout


def test_what_stands_keeps_its_evidence(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    assert gateval(shop, "check").returncode == 1
    again = gateval(shop, "check", "--results", str(tmp_path / "again"))
    assert again.returncode == 1
    said = " ".join(again.stdout.split())
    assert "refund-asks-why stands as regressed from an earlier run" in said
    assert "toolCalled: Expected a call of `clarify_reason`, saw the calls refund." in said
    assert "0 of 2 now" not in said
    comment = (tmp_path / "again/comment.md").read_text()
    assert "saw the calls refund" in comment
    assert "\n- \n" not in comment
    third = gateval(shop, "check")
    assert "saw the calls refund" in " ".join(third.stdout.split()), "however often it is asked"


def test_what_stands_is_told_with_its_commit_and_what_was_answered(tmp_path: Path) -> None:
    """Commits that change nothing the Agent is made of come after it."""
    shop = build_shop(tmp_path / "shop")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    first = shop.id("HEAD")
    assert gateval(shop, "check", "--base", "main").returncode == 1
    said = ""
    for number in range(2):
        shop.write("README.md", f"Nothing of it matters. {number}\n")
        shop.commit()
        out = tmp_path / f"again-{number}"
        again = gateval(shop, "check", "--base", "main", "--results", str(out))
        assert again.returncode == 1
        said = " ".join(again.stdout.split())
        told = f"passed 2 of 2 before, 0 of 2 then; found at {first[:7]}"
        assert told in said, "the commit that was measured, however often it is asked"
        assert "a new run does not take it back" in said
        for view in ("comment.md", "junit.xml"):
            text = (out / view).read_text().replace("\u200b", "")
            assert f"found at {first[:7]}" in text, view
    comment = (tmp_path / "again-1/comment.md").read_text()
    assert "<summary>What head did then</summary>" in comment
    assert "tool call    refund {}" in comment
    shown = gateval(shop, "show", str(tmp_path / "again-1"), "refund-asks-why").stdout
    assert "What head did then" in shown
    assert "refund {}" in shown


@pytest.mark.parametrize("model", ["fixtures", "weighted", "passing"])
def test_what_stands_keeps_its_score_in_every_view(tmp_path: Path, model: str) -> None:
    """A fixture fails, or scores less and still passes: it scores 0.40 whenever it is looked at."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    parts = "weight: 3}\n    - {type: contains, value: Done, weight: 2}"
    two = FIXTURES.replace("clarify_reason}", f"clarify_reason, {parts}")
    shop.write("evals/fixtures.yaml", two)
    least = {"weighted": 0.9, "passing": 0.3}.get(model)
    scoring = f"  scoring: {{model: weighted, passScore: {least}}}\n" if least else ""
    shop.write("evals/support-eval.yaml", EVAL + scoring)
    shop.commit()
    shop.branch("worse")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    for number in range(3):
        out = tmp_path / f"out-{number}"
        done = gateval(shop, "check", "--base", "main", "--results", str(out))
        assert done.returncode == 1, done.stdout + done.stderr
        when = "now" if number == 0 else "then"
        runs = f"(2 runs, {2 if model == 'passing' else 0} passed)"
        words = f"scored 1.00 (2 runs, 2 passed) before, 0.40 {when} {runs}"
        if model == "fixtures":
            words = f"passed 2 of 2 before, 0 of 2 {when}"
        for text in (done.stdout, (out / "junit.xml").read_text(),
                     gateval(shop, "show", str(out), "refund-asks-why").stdout):  # fmt: skip
            said = " ".join(text.split())
            assert words in said, text
            assert "score 0.40 (base 1.00)" in said, text
            assert "could have been missed" not in said, "it does the same each time"
        comment = (out / "comment.md").read_text().lower()
        assert words in comment
        assert "score 0.40 (base 1.00)" in comment
        assert "### regressed" in comment, "what blocks is open"
        whole = "0.60" if model != "fixtures" else "0.33"
        assert f"| {whole} | 1.00 |" in comment, "the Eval scores the same as well"
        (one,) = json.loads((out / "run.v1.json").read_text())["evals"]
        owns = {each["fixture"]: each["own"] for each in one["fixtures"]}
        assert owns["refund-asks-why"] == [0.4, 0.4]
        again = gateval(shop, "compare", str(tmp_path / "out-0"), str(out)).stdout
        assert f"{whole} \u2192 out-{number} {whole}" in again
        assert ("stands from an earlier run in the second" in again) == bool(number), again


def test_a_fixture_of_two_evals_is_told_once_and_its_evidence_by_every_command(
    tmp_path: Path,
) -> None:
    """One Eval counts trials, the other adds up scores; what fell stands in the second check."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    weighted = EVAL.replace("support-eval", "weighted-eval") + "  scoring: {model: weighted}\n"
    shop.write("evals/weighted.yaml", weighted)
    shop.commit()
    shop.branch("worse")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    first = gateval(shop, "check", "--base", "main")
    title = " ".join(first.stdout.partition("head:")[0].split())
    assert title == "Gateval: fail \u2014 refund-asks-why passed before and fails now", title
    for _ in range(2):
        for name in ("support-eval", "weighted-eval"):
            shown = " ".join(gateval(shop, "get", "eval", name).stdout.split())
            assert "Expected a call of `clarify_reason`, saw the calls refund." in shown, shown
        assert gateval(shop, "check", "--base", "main").returncode == 1
    said = " ".join(gateval(shop, "compare", "main", "HEAD").stdout.split())
    assert "(Fisher or, of scores, paired permutations, one-sided)" in said


def test_an_accepted_lower_bar_and_one_that_head_meets_are_named(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    scored = EVAL + "  scoring: {passThreshold: 0.9}\n"
    shop.write("evals/support-eval.yaml", scored)
    shop.commit()
    shop.branch("lower")
    shop.write("evals/support-eval.yaml", scored.replace("0.9}", "0.2}"))
    shop.commit()
    met = gateval(shop, "check", "--base", "main")
    assert met.returncode == 0, met.stdout + met.stderr
    assert "less is asked (passThreshold), and head meets what the target branch asks" in " ".join(
        met.stdout.split("head:")[0].split()
    )
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    out = str(tmp_path / "out")
    gateval(shop, "check", "--base", "main", "--accept-bar-change", "--results", out)
    comment = (tmp_path / "out/comment.md").read_text()
    assert "below, accepted by --accept-bar-change" in comment
    assert "pass, with warnings" not in comment


def test_the_title_says_why_nobody_answers(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    agent = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: support}\nspec:\n"
    agent += "  modelCalls: optional\n  runtime: {type: command, command: [python3, a.py]}\n"
    shop.write("agents/support.yaml", agent)
    shop.write("agents/a.py", "print('Hello')\n")
    shop.commit()
    shop.branch("broken")
    shop.write("agents/a.py", "import nowhere_to_be_found\nprint('Hello')\n")
    shop.commit()
    done = gateval(shop, "check", "--base", "main", "--eval", "support-eval")
    assert done.returncode == 1, done.stdout + done.stderr
    first = " ".join(done.stdout.split("head:")[0].split())
    assert "support no longer starts: the module nowhere_to_be_found is not installed" in first
    assert "could have been missed" not in done.stdout, "nothing that was compared is left"


def test_what_both_sides_print_is_told_once_and_nothing_of_drops(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    agent = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: support}\nspec:\n"
    agent += "  modelCalls: optional\n  runtime: {type: command, command: [python3, a.py]}\n"
    shop.write("agents/support.yaml", agent)
    shop.write("agents/a.py", "raise RuntimeError('no luck today')\n")
    shop.commit()
    shop.branch("next")
    shop.write("agents/a.py", "raise RuntimeError('no luck today')\n# as before\n")
    shop.commit()
    done = gateval(shop, "check", "--base", "main")
    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.count("RuntimeError: no luck today") == 1, done.stdout
    assert "could have been missed" not in done.stdout


def test_what_could_have_been_missed_is_told_once_and_where_it_matters(tmp_path: Path) -> None:
    """The agent does not do the same each time, so that chance has a say."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    shop.write(".gateval/scripted/support.yaml", WAVERING.replace("SEED", "5"))
    shop.write("evals/fixtures.yaml", GREETS)
    shop.commit()
    shop.branch("next")
    shop.write("agents/prompts/support.md", SAME)
    shop.commit()
    done = gateval(shop, "check", "--base", "main", "--results", str(tmp_path / "out"))
    assert done.stdout.count("could have been missed") == 1, done.stdout
    assert (tmp_path / "out/comment.md").read_text().count("could have been missed") == 1
    shop.write("README.md", "Nothing to compare.\n")
    shop.commit()
    alone = gateval(shop, "run", "support-eval")
    assert "could have been missed" not in alone.stdout, "nothing was compared"


def test_looking_back_has_the_reports_order_words_and_cut(tmp_path: Path) -> None:
    """What fails comes first, the most severe of it; of many names a few stand, and a number."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    more = [GREETS.replace("greets", f"hello-{number:03}") for number in range(60)]
    asks = [ASKS_WHY.replace("refund-asks-why", f"why-{number:03}") for number in range(60)]
    low = ASKS_WHY.replace("refund-asks-why", "a-low-one").replace("high", "low")
    shop.write("evals/fixtures.yaml", "---\n".join([low, *more, *asks]))
    shop.write("evals/support-eval.yaml", EVAL + "  scoring: {model: weighted, passScore: 0.6}\n")
    shop.commit()
    shop.branch("worse")
    shop.write("agents/prompts/support.md", WORSE)
    shop.commit()
    assert gateval(shop, "check", "--base", "main").returncode == 1
    status = gateval(shop, "get", "eval", "support-eval").stdout
    rows = [
        line.split()[0]
        for line in status.splitlines()
        if line.startswith(("why", "a-low", "hello"))
    ]
    assert rows[:2] == ["why-000", "why-001"]
    assert len(rows) < 80, "a screen, not all of it"
    assert "71 more" in status, status[-300:]
    every = json.loads(gateval(shop, "get", "eval", "support-eval", "-o", "json").stdout)
    names = [one["name"] for one in every["fixtureResults"]]
    assert names[:2] == ["why-000", "why-001"]
    assert names[60:62] == ["a-low-one", "hello-000"]
    both = gateval(shop, "compare", "main", "HEAD").stdout
    assert "FIXTURE" in both
    assert "TASK" not in both
    assert "why-000" in both
    assert "and 11 more" in both, "61 fell"
    changed = json.loads(gateval(shop, "compare", "main", "HEAD", "--json").stdout)[0]["scores"]
    assert [one["name"] for one in changed["tasks"]][59:62] == ["why-059", "a-low-one", "hello-000"]
    assert "all fixtures together" in both
    past = " ".join(gateval(shop, "history", "support-eval").stdout.split())
    assert "why-003 and 57 more" in past, past


MOODS = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {{name: {name}, labels: {{agent: support}}}}
spec:
  severity: {severity}
  input: {{type: prompt, payload: {{prompt: {name}}}}}
  assertions: [{{type: contains, value: fine}}]
"""


def test_show_get_and_history_have_one_order(tmp_path: Path) -> None:
    """Each fixture ends in another way; those that end alike come by weight, then by score."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    severities = {"passes": "high", "improves": "low", "fails": "critical", "quiet": "medium"}
    names = severities | {"falls": "low", "drops": "medium"}
    shop.write("agents/support.yaml", COMMAND)
    text = "---\n".join(MOODS.format(name=name, severity=how) for name, how in names.items())
    shop.write("evals/fixtures.yaml", text)
    said = dict.fromkeys(names, "fine") | {"improves": "bad", "fails": "bad"}
    program = "import json, sys\nsaid = {said!r}[json.load(sys.stdin)['prompt']]\n"
    program += "print(said) if said else exit(1)\n"
    shop.write("agents/a.py", program.format(said=said))
    shop.commit()
    shop.branch("next")
    after = said | {"improves": "fine", "falls": "bad", "drops": "bad", "quiet": ""}
    shop.write("agents/a.py", program.format(said=after))
    shop.commit()
    assert gateval(shop, "check", "--base", "main").returncode == 1
    order = ["drops", "falls", "quiet", "fails", "passes", "improves"]
    shown = gateval(shop, "show").stdout
    found = [line.split("/")[1].split(":")[0] for line in shown.splitlines() if "-eval/" in line]
    assert found[:-1] == order, shown
    status = json.loads(gateval(shop, "get", "eval", "support-eval", "-o", "json").stdout)
    assert [one["name"] for one in status["fixtureResults"]] == order
    (points,) = json.loads(gateval(shop, "history", "support-eval", "--json").stdout).values()
    assert points[0]["regressed"] == ["drops", "falls", "quiet"]
    both = json.loads(gateval(shop, "compare", "main", "HEAD", "--json").stdout)[0]["fixtures"]
    assert [one["fixture"] for one in both] == [
        "drops",
        "falls",
        "quiet",
        "improves",
        "fails",
        "passes",
    ]


COMMAND = """\
apiVersion: gateval/v1
kind: Agent
metadata: {name: support}
spec:
  modelCalls: optional
  runtime: {type: command, command: [python3, a.py]}
"""


def test_what_was_measured_in_part_says_how_much_of_it(tmp_path: Path) -> None:
    """Every other answer of the model is lost."""
    shop = build_shop(tmp_path / "shop")
    shop.checkout("main")
    agent = "apiVersion: gateval/v1\nkind: Agent\nmetadata: {name: support}\nspec:\n"
    agent += "  models: [openai/agent]\n  system: Be polite.\n"
    shop.write("agents/support.yaml", agent)
    ours = GREETS.replace("Hello}}", "Bye}}").replace("greets", "leaves")
    shop.write("evals/fixtures.yaml", f"{GREETS}---\n{ours}")
    shop.commit()

    def respond(call: Call) -> Answer:
        if "Bye" in json.dumps(call.body):
            return failure(call, 500, "The lights are out.")
        return reply(call, "Hello!")

    with provider(respond) as (_, environ):
        done = gateval(shop, "run", "support-eval", **environ, GATEVAL_OUTAGE_SECONDS="1")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "0.50–1.00 (1 of" in done.stdout, "a narrow column"
    (out,) = (shop.path / ".gateval/results").glob("2*")
    for view in ("comment.md", "junit.xml"):
        assert "0.50–1.00 (1 of 2 runs)" in (out / view).read_text(), view
    for words in (
        ("get", "eval", "support-eval"),
        ("history", "support-eval"),
        ("compare", "HEAD", "HEAD"),
    ):
        assert "0.50–1.00 (1 of 2 runs)" in gateval(shop, *words).stdout, words
