"""Changes that try to learn what is sealed, or to get round it; and people without the key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.command import gateval
from tests.helpers.providers import provider
from tests.helpers.repo import Repo
from tests.helpers.sealed import (
    AGENT,
    CONFIG,
    HELD,
    KEY,
    OTHER_PRIVATE,
    OTHER_PUBLIC,
    PROGRAM,
    judges,
    leaks,
    seal,
    sealed_shop,
)

ANSWERED = {
    "a plain Eval that selects a sealed fixture, with repetitions, a judge, an Agent or a schedule of its own, to spell its words by outcomes": "does not run before it is merged, whatever `policy.bar` says; sealed all the same",
    "a sealed Eval with more repetitions, another judge or model for likeness, other fixtures, limits or files": "the target branch's version runs in its place",
    "a label on a plain fixture, so that a sealed Eval takes it in": "the same",
    "a plain template that a sealed Eval's `vars` fill in, edited so that they stand in the prompt, in a message about what is wrong, or in what the bar says": "refused, status 2",
    "a plain fixture with guessed words, to be told that it is the same test": "a sealed fixture equals another by its salted digest alone",
    "a plain fixture in the place of a sealed one, to read the difference in the comment": "named without a word of either",
    "a scripted judge, a scripted model for likeness, or a check of one's own that tries words of the rubric, in a template too": "refused, status 2",
    "an answer that breaks the contract, a crash, a service or an `after` that fails, with words of the input in it": "told without a word; what we say of exit codes and time stays",
    "a program left in the playground, which a sealed `commandResult` runs and tells on its input": "no network of any kind, no folder, queue or shared memory that others see",
    "a look at the list of processes while that runs, by another trial's agent, the other side's, a kept server, a service": "all of them have ended before, and none starts until it is through",
    "a module, a `.pth`, `sitecustomize.py`, a program in a folder of a relative PATH, left for the sealed interpreter": "it works in an empty folder, with `-I` and without variables that name places to import from",
    "a program left for one sealed command that reads the words of the next": "one runs at a time",
    "end states too large for the disk": "what waits is through before more begins; one that is too large is an error",
    "a supervisor that is killed while end states wait": "another one runs what they wait for",
    "evidence of another run in the place of this one's": "told, status 2",
    "a sealed file moved over another, cut off, or sealed for others": "told, status 2",
    "an easier file, sealed by a stranger with the public key": "the target branch's own file is measured in its place",
    "a sealed file that a fork takes away": "`incomplete`, as without the key",
    "guesses against a digest in the results": "digests have a salt that lies in the sealed file",
    "which fixture, axis or criterion failed, how, after how long, with how many tokens, repetitions, retries or warnings: read off results, comment, records, log times, sizes or order": "no byte differs: a sealed Eval has a verdict and a rate in steps of 0.05 (`tests/e2e/sealed/test_sealed_outcomes.py`)",
    "what sealed trials spent, read off how many repetitions plain Evals still got": "`policy.budget` is divided by planned trials",
    "many pull requests, or many authors, to add up verdicts": "bits are counted per sealed file and month, then verdicts alone, then `incomplete`",
    "one head run again and again, whose agent answers by chance or as somebody tells it": "an answer that is another one is counted, with when it came; the same costs nothing",
    "a thousand runs, so that GitHub deletes the check runs that count": "each holds what was given away before it",
    "a run that nobody counts: Dependabot's or a fork's that was given the key, `step: run`": "opens nothing; tells nothing of what is sealed",
    "an agent that hides all fixtures but one from the judge, to aim the rate at it": "no rate where a planned trial was not measured",
    "`sealed: true` taken off an Eval in plain text, with `bar: head`": "the target branch's version runs, sealed",
    "tools or files of the Agent taken away, to read in which lines of a sealed file they are named": "the file is named once, without a line: a bit a run",
    "a stored finding encrypted for the gate by a stranger": "signed with the key itself, and about one head",
    "the length of the run, the size class of the evidence": "not closed: a bit or two a run",
    "an older version of a sealed file, or another repository's of the same path and key": "an edit like any other: the target branch's own file is measured in its place",
    "the change names its author among `policy.recipients`": "the target branch's recipients count; the edit is told",
    "a pull request, or a comment's rerun, into a branch of the author's own, which names them as recipient, or Evals of their choice": "nothing sealed is opened but for the default branch, and those that `GATEVAL_SEALED_BRANCHES` names beside the key; `incomplete`",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""

EASY = HELD.partition("    - {type: judge")[0] + "---" + HELD.partition("---")[2]
"""The sealed Eval without its judge."""

PLAIN = """\
apiVersion: gateval/v1
kind: EvalFixture
metadata: {name: greets, labels: {held: "yes"}}
spec:
  input: {type: prompt, payload: {prompt: Hello}}
  assertions: [{type: contains, value: Whatever}]
"""


def check(shop: Repo, *words: str, **environ: str) -> tuple[int, str, Path]:
    """Check the branch against main: the exit code, all that was said, and the results."""
    out = shop.path.parent / "out"
    done = gateval(shop, "check", "--base", "main", "--results", str(out), *words, **environ)
    return done.returncode, done.stdout + done.stderr, out


def test_without_the_key_a_change_of_the_agent_is_incomplete(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    code, said, out = check(shop)
    assert code == 3, said
    told = " ".join(said.split())
    assert "evals/held.yaml.age is sealed, and the key is not here" in told
    assert "policy.recipients" in told
    assert "pass" not in (out / "summary.txt").read_text("utf-8").splitlines()[0]
    assert "is sealed" in (out / "comment.md").read_text("utf-8")


def test_without_the_key_other_changes_pass(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.checkout("main")
    shop.branch("docs")
    shop.write("README.md", "Hello")
    shop.commit()
    code, said, _ = check(shop)
    assert code == 0, said
    assert "Nothing to evaluate" in said
    shop.write("evals/files/page.txt", "a file that a sealed fixture may name")
    shop.commit()
    out = tmp_path / "two"
    done = gateval(shop, "check", "--base", "main", "--results", str(out))
    assert done.returncode == 3, done.stdout


def test_without_the_key_commands_say_what_they_did_not_look_into(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    said = gateval(shop, "validate").stdout
    assert "warning: evals/held.yaml.age:1:1: This is sealed, and the key is not here" in said
    done = gateval(shop, "run", "held-out")
    assert done.returncode == 2
    assert "It may be sealed" in done.stderr
    said = gateval(shop, "plan", "--base", "main").stdout
    assert "no Eval targets it" not in said


@pytest.mark.parametrize("key", [{}, KEY])
def test_a_sealed_file_that_the_change_takes_away_still_binds(
    tmp_path: Path, key: dict[str, str]
) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.delete("evals/held.yaml.age")
    shop.commit()
    code, said, out = check(shop, **key)
    assert code == (1 if key else 3), said
    assert leaks([out], [said]) == []
    if key:
        assert "held-out" in said


def test_a_plain_fixture_in_place_of_the_sealed_one_shows_nothing_of_it(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.delete("evals/held.yaml.age")
    shop.write("evals/held.yaml", PLAIN + "---" + EASY.partition("---")[2])
    shop.commit()
    code, said, out = check(shop, **KEY)
    assert code == 1, said
    assert "what the fixture greets asks, which is sealed" in said
    assert leaks([out], [said]) == []


def test_an_eval_that_is_not_sealed_shows_nothing_of_a_sealed_fixture(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.write(
        "evals/mine.yaml",
        "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: mine}\n"
        "spec: {targetAgent: desk, fixtures: [greets]}\n",
    )
    shop.commit()
    code, said, out = check(shop, **KEY)
    assert code == 1, said
    assert "mine" in said
    assert leaks([out], [said]) == []
    assert not list(shop.path.glob(".gateval"))
    without = gateval(shop, "check", "--base", "main", "--results", str(tmp_path / "two"))
    assert without.returncode == 3, without.stderr
    assert "There is no fixture" not in without.stderr


def test_a_scripted_judge_is_no_oracle_for_a_sealed_rubric(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop")
    shop.write(".gateval/scripted/oracle.yaml", "rules: [{when: {user: quokka}, reply: x}]\n")
    shop.write(
        "evals/mine.yaml",
        "apiVersion: gateval/v1\nkind: Eval\nmetadata: {name: mine}\n"
        "spec: {targetAgent: desk, fixtures: [greets], judge: {model: scripted/oracle}}\n",
    )
    shop.commit()
    code, said, _ = check(shop, **KEY)
    assert code == 2, said
    assert "could try words of a sealed rubric" in said


def test_easier_sealed_fixtures_are_told_without_a_word(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    easier = EASY.replace("value: thanks", "value: Whatever")
    (shop.path / "evals/held.yaml.age").unlink()
    seal(shop, "evals/held.yaml", easier)
    shop.commit()
    code, said, out = check(shop, **KEY)
    assert code == 1, said
    assert "what the fixture greets asks, which is sealed" in said
    assert "asks less" in said or "target branch" in said
    assert leaks([out], [said]) == []


def test_commands_that_look_back_show_nothing_of_it(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop")
    with provider(judges) as (_, environ):
        assert gateval(shop, "check", "--base", "main", **environ, **KEY).returncode == 1
        for words in (
            ["get", "fixtures", "-o", "json"],
            ["history", "held-out"],
            ["judge", "try", "greets"],
            ["judge", "attack", "held-out", "--yes"],
            ["challenge", "greets", "--score", "1", "--reason", "lenient"],
            ["run", "held-out"],
            ["doctor"],
        ):
            done = gateval(shop, *words, **environ, **KEY)
            assert "fault in Gateval" not in done.stderr, done.stderr
            assert leaks([shop.path], [done.stdout, done.stderr]) == [], words
        shown = gateval(shop, "show", **environ)
        assert leaks([], [shown.stdout, shown.stderr]) == []
        assert "policy.recipients" in shown.stdout, "who can tell more"
        assert "quokka" in gateval(shop, "show", "greets", **environ, **KEY).stdout
        refused = gateval(shop, "judge", "try", "greets", **environ, **KEY)
        assert "greets is sealed, and this would print its rubric" in refused.stderr
        refused = gateval(shop, "judge", "attack", "held-out", "--yes", **environ, **KEY)
        assert "held-out is sealed, and this would show" in refused.stderr


@pytest.mark.parametrize("away", [False, True])
def test_sealed_again_as_it_was_it_did_not_change(tmp_path: Path, away: bool) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.checkout("main")
    shop.branch("again")
    before = (shop.path / "evals/held.yaml.age").read_bytes()
    shop.write("evals/held.yaml", EASY)
    if away:
        (shop.path / "evals/held.yaml.age").unlink()
        assert gateval(shop, "validate", **KEY).returncode == 0, "the plain file stands for it"
    assert gateval(shop, "seal", "evals/held.yaml", **KEY).returncode == 0
    shop.delete("evals/held.yaml")
    shop.commit()
    assert (shop.path / "evals/held.yaml.age").read_bytes() != before
    code, said, _ = check(shop, **KEY)
    assert code == 0, said
    assert "Nothing to evaluate" in said


def test_one_sealed_file_under_the_name_of_another_is_refused(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    seal(shop, "evals/easy.yaml", EASY.replace("greets", "easy").replace("held", "weak"))
    (shop.path / "evals/easy.yaml.age").replace(shop.path / "evals/held.yaml.age")
    shop.commit()
    code, said, _ = check(shop, **KEY)
    assert code == 2, said
    assert "was sealed as evals/easy.yaml.age" in said


def test_a_wrong_key_and_a_cut_file_are_told(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    code, said, _ = check(shop, GATEVAL_IDENTITY=OTHER_PRIVATE)
    assert code == 2, said
    assert "evals/held.yaml.age:1:1: No key in GATEVAL_IDENTITY opens this file" in said
    data = (shop.path / "evals/held.yaml.age").read_bytes()
    shop.write("evals/held.yaml.age", data[: len(data) // 2])
    done = gateval(shop, "validate", **KEY)
    assert done.returncode == 2
    assert "This file is damaged" in done.stdout
    code = gateval(shop, "unseal", "evals/held.yaml.age", **KEY).returncode
    assert code == 2


def test_the_change_cannot_name_itself_a_reader(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.write(".github/gateval.yml", CONFIG.replace("[", f"[{OTHER_PUBLIC}, "))
    shop.commit()
    code, said, out = check(shop, **KEY)
    assert code == 1, said
    assert "policy.recipients" in said, "who merges it is told"
    mine = gateval(shop, "unseal", str(out), GATEVAL_IDENTITY=OTHER_PRIVATE)
    assert mine.returncode == 2
    assert "is sealed for others" in mine.stderr
    assert gateval(shop, "unseal", str(out), **KEY).returncode == 0


def test_without_recipients_it_is_said_that_nobody_can_read_the_evidence(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.checkout("main")
    shop.write(".github/gateval.yml", "policy: {}\n")
    shop.commit()
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Whatever."))
    code, said, out = check(shop, **KEY)
    assert code == 1, said
    assert "the evidence on sealed Evals was not kept" in said
    assert not (out / "results.v1.json.age").exists()
    assert "nobody could have read it" in gateval(shop, "unseal", str(out), **KEY).stderr


def test_a_plan_in_a_file_holds_no_words_and_does_not_run_them(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    plan = gateval(shop, "plan", "--base", "main", "--json", **KEY).stdout
    assert leaks([], [plan]) == []
    assert json.loads(plan)["evals"][0]["sealed"]
    out = tmp_path / "out"
    done = gateval(shop, "run", "--plan", "-", "--results", str(out), stdin=plan, **KEY)
    assert done.returncode == 3, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "held-out is sealed, and was not measured in full" in said
    assert "A plan in a file holds no words of sealed Evals" in said


def test_sealed_in_plain_manifests_means_the_same(tmp_path: Path) -> None:
    shop = Repo(tmp_path / "shop")
    shop.write("desk/agent.yaml", AGENT)
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Many thanks."))
    shop.write(".github/gateval.yml", CONFIG)
    shop.write("evals/held.yaml", EASY.replace("  targetAgent", "  sealed: true\n  targetAgent"))
    shop.commit()
    shop.branch("next")
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Whatever."))
    shop.commit()
    code, said, out = check(shop, **KEY)
    assert code == 1, said
    assert leaks([out], [said]) == []
    assert "ZANZIBAR" in gateval(shop, "unseal", str(out), "--format", "results", **KEY).stdout
    shop.write("evals/held.yaml", EASY)
    shop.commit()
    done = gateval(shop, "check", "--base", "main", "--results", str(tmp_path / "two"), **KEY)
    assert "sealed true → false" in done.stdout, done.stdout


def test_seal_refuses_what_is_wrong_and_writes_nothing(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.write("evals/new.yaml", EASY.replace("contains", "contians"))
    done = gateval(shop, "seal", "evals/new.yaml")
    assert done.returncode == 2
    assert "evals/new.yaml:8:" in done.stderr
    assert "contians" in done.stderr, "these are the own words of who seals"
    assert not (shop.path / "evals/new.yaml.age").exists()
    done = gateval(shop, "seal", "desk/agent.yaml")
    assert "belongs outside" in done.stderr


def test_a_new_key_opens_what_is_sealed_for_it(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    key = tmp_path / "key.txt"
    said = gateval(shop, "seal", "--new-key", str(key)).stdout
    assert key.stat().st_mode & 0o777 == 0o600
    public = key.read_text().splitlines()[0].removeprefix("# public key: ")
    assert public in said
    assert "AGE-SECRET-KEY" not in said
    shop.write(".github/gateval.yml", f"policy: {{recipients: [{public}]}}\n")
    seal(shop, "evals/held.yaml", EASY)
    opened = gateval(shop, "unseal", "evals/held.yaml.age", GATEVAL_IDENTITY=key.read_text())
    assert opened.stdout == EASY
    assert gateval(shop, "seal", "--new-key", str(key)).returncode == 2, (
        "a key is never overwritten"
    )


def test_evidence_of_another_run_is_told(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    runs = [tmp_path / "one", tmp_path / "two"]
    for out in runs:
        done = gateval(shop, "check", "--base", "main", "--results", str(out), **KEY)
        assert done.returncode == 1, done.stderr
        assert gateval(shop, "unseal", str(out), **KEY).returncode == 0
    (runs[0] / "results.v1.json.age").replace(runs[1] / "results.v1.json.age")
    done = gateval(shop, "unseal", str(runs[1]), **KEY)
    assert done.returncode == 2, done.stdout
    assert "The evidence is not of the run in" in done.stderr
    (runs[1] / "results.v1.json").unlink()
    assert gateval(shop, "unseal", str(runs[1]), **KEY).returncode == 0


def test_a_path_that_no_line_can_hold_is_not_sealed(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.write("evals/two\nlines/held.yaml", EASY)
    done = gateval(shop, "seal", "evals/two\nlines/held.yaml")
    assert done.returncode == 2, done.stdout
    assert "has a line break in its name" in done.stderr


def test_sealing_leaves_the_plain_text_out_of_git(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.write("evals/draft.yaml", EASY.replace("greets", "drafted").replace("held-out", "draft"))
    assert gateval(shop, "seal", "evals/draft.yaml").returncode == 0
    assert leaks([shop.path / ".git"]) == []
    assert gateval(shop, "validate", **KEY).returncode == 2, "both files define the same"
    assert leaks([shop.path / ".git"]), "a snapshot of the working tree holds all of it"


@pytest.mark.parametrize("pattern", ["evals/*.yaml", "evals/held.yaml", "evals/**"])
def test_a_sealed_file_is_a_manifest_where_the_plain_one_is(tmp_path: Path, pattern: str) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.checkout("main")
    shop.write(".github/gateval.yml", f"manifests: [desk/agent.yaml, '{pattern}']\n{CONFIG}")
    shop.commit()
    shop.branch("narrowed")
    shop.write("desk/desk.py", PROGRAM.replace("REPLY", "Whatever."))
    shop.commit()
    code, said, _ = check(shop, **KEY)
    assert code == 1, said
    assert "held-out" in said


def test_a_private_key_among_the_recipients_is_not_repeated(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop", EASY)
    shop.write(".github/gateval.yml", CONFIG.replace("[", f"[{OTHER_PRIVATE}, "))
    for words in (["validate"], ["seal", "desk/agent.yaml"], ["check", "--base", "main"]):
        done = gateval(shop, *words)
        said = done.stdout + done.stderr
        assert done.returncode == 2, said
        assert "This is a private key" in said
        assert OTHER_PRIVATE[:30] not in said
