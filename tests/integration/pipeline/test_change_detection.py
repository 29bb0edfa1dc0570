"""What counts as a change, on real repositories."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from gateval.domain.manifests.gate_config import policy_digest
from gateval.domain.plan.plan import ChangeKind, Plan
from gateval.domain.plan.planned_eval import Baseline
from gateval.domain.planning.snapshot import Snapshot
from gateval.domain.problems import InvalidManifests
from gateval.pipeline.manifests import ManifestCache
from tests.helpers.repo import Repo
from tests.helpers.shop import AGENT, EVAL, FIXTURES, PROMPT, SCRIPT, build_shop, plan_of

ANSWERED = {
    "a crosswise merge that restores what the target branch has replaced, equal to one of several merge-bases": "head is compared with the target branch's tip",
    "code behind a link over a linked folder, `..` behind a link, `--option=PATH`": "links are followed as the kernel does; all on the way counts",
}
"""What these tests and their neighbours carry out, as `docs/reference/attacks.md` tells it."""

PROGRAM = AGENT.replace(
    "  tools:", "  runtime: {type: command, command: [python3, ../src/run.py]}\n  tools:"
)

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9\n"


@pytest.fixture
def shop(tmp_path: Path) -> Repo:
    return build_shop(tmp_path / "shop")


def reasons(plan: Plan) -> list[str]:
    """Every reason of every changed Agent."""
    return [str(reason) for change in plan.changes for reason in change.reasons]


def evals(plan: Plan) -> list[str]:
    return [planned.name for planned in plan.evals]


def test_no_revision_that_was_read_outlives_its_plan(shop: Repo) -> None:
    shop.write("agents/support.yaml", PROGRAM.replace("Ask why.", "Ask it."))
    shop.commit()
    gc.collect()
    gc.disable()  # a run looks for circles as rarely as it can
    try:
        assert plan_of(shop).evals
        assert not [one for one in gc.get_objects() if isinstance(one, Snapshot)]
    finally:
        gc.enable()


UNCHANGED = {
    "comment": ("agents/support.yaml", "# a comment\n" + AGENT),
    "key order": (
        "agents/support.yaml",
        AGENT.replace(
            "apiVersion: gateval/v1\nkind: Agent\n", "kind: Agent\napiVersion: gateval/v1\n"
        ),
    ),
    "formatting": (
        "agents/support.yaml",
        AGENT.replace("[scripted/support]", "\n  - 'scripted/support'"),
    ),
    "alias apiVersion": ("agents/support.yaml", AGENT.replace("gateval/v1", "pai.io/v1")),
    "default written out": (
        "agents/support.yaml",
        AGENT.replace("description: Ask why.}", "description: Ask why., enabled: true}"),
    ),
    "fixture comment": ("evals/fixtures.yaml", FIXTURES + "# the end\n"),
    "file nobody refers to": ("README.md", "A better shop.\n"),
    "unrelated yaml": ("config/app.yaml", "replicas: {{ broken helm }}\n"),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_what_does_not_change_the_meaning_is_no_change(shop: Repo, case: str) -> None:
    shop.write(*UNCHANGED[case])
    shop.commit()
    plan = plan_of(shop)
    assert plan.changes == ()
    assert plan.evals == ()
    assert plan.nothing.startswith("Nothing to evaluate: no Agent, Eval or fixture changed")


CHANGED = {
    "prompt file": (
        "agents/prompts/support.md",
        PROMPT + "Be brief.\n",
        "agents/prompts/support.md spec.system",
    ),
    "model": (
        "agents/support.yaml",
        AGENT.replace("scripted/support", "scripted/support, openai/gpt-5"),
        "agents/support.yaml:6 spec.models",
    ),
    "tool": (
        "agents/support.yaml",
        AGENT.replace("refund,", "pay_back,"),
        "agents/support.yaml:8 spec.tools",
    ),
    "unknown spec key": (
        "agents/support.yaml",
        AGENT + "  memories: [orders]\n",
        "agents/support.yaml:11 spec.memories",
    ),
    "scripted model": (
        ".gateval/scripted/support.yaml",
        SCRIPT.replace("Done.", "Finished."),
        ".gateval/scripted/support.yaml scripted model support",
    ),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_changes_the_meaning_names_its_reason(shop: Repo, case: str) -> None:
    path, text, reason = CHANGED[case]
    shop.write(path, text)
    shop.commit()
    plan = plan_of(shop)
    assert reasons(plan) == [reason]
    assert plan.changes[0].kind is ChangeKind.MODIFIED
    assert evals(plan) == ["support-eval"]
    assert plan.evals[0].baseline is Baseline.MERGE_BASE


def test_the_excerpt_shows_the_lines_that_differ(shop: Repo) -> None:
    shop.write("agents/prompts/support.md", PROMPT.replace("Always ask for the reason", "Be quick"))
    shop.commit()
    (reason,) = plan_of(shop).changes[0].reasons
    assert reason.before == "Always ask for the reason first."
    assert reason.after == "Be quick first."


def test_a_link_out_of_the_repository_is_told_before_anything_runs(shop: Repo) -> None:
    build_program(shop)
    shop.link("docs/elsewhere", "/etc/passwd")
    shop.write("agents/tools.py", "x = 2\n")
    shop.commit()
    assert plan_of(shop).evals, "no candidate gets this link"
    shop.rename("docs/elsewhere", "agents/elsewhere")
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop, base="main")
    (problem,) = caught.value.problems
    assert "agents/support.yaml" in str(problem)
    assert "The symbolic link agents/elsewhere does not hold a relative path" in problem.message


def test_a_renamed_manifest_or_prompt_is_no_change(shop: Repo) -> None:
    shop.rename("agents", "bots")
    shop.rename("bots/support.yaml", "bots/helpdesk.yaml")
    shop.rename("bots/prompts/support.md", "bots/prompts/helpdesk.md")
    shop.write("bots/helpdesk.yaml", AGENT.replace("prompts/support.md", "prompts/helpdesk.md"))
    shop.commit()
    assert plan_of(shop).changes == ()


def build_program(shop: Repo) -> None:
    """Turn the Agent into a program with code in two folders, on both branches."""
    shop.checkout("main")
    shop.write("agents/support.yaml", PROGRAM)
    shop.write("agents/tools.py", "x = 1\n")
    shop.write("src/run.py", "print('hi')\n")
    shop.write("src/other.py", "y = 1\n")
    shop.commit()
    shop.branch("change2")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("agents/tools.py", ["agents/tools.py changed"]),
        ("src/run.py", ["src/run.py changed"]),
        ("src/other.py", []),
        ("agents/new.py", ["agents/new.py added"]),
        ("agents/we ird\nname.py", ['"agents/we ird\\nname.py" added']),
    ],
)
def test_the_closure_of_a_program_counts(shop: Repo, path: str, expected: list[str]) -> None:
    build_program(shop)
    shop.write(path, "changed = True\n")
    shop.commit()
    assert reasons(plan_of(shop, base="main")) == expected


BESIDE = (
    "{type: command, command: [python3, ../src/run.py], before: [sh, ../ops/reset.sh], "
    "after: [sh, ../ops/clean.sh], services: [{name: db, command: [python3, ../ops/db.py]}]}"
)


@pytest.mark.parametrize("name", ["reset.sh", "clean.sh", "db.py"])
def test_what_runs_beside_a_program_belongs_to_its_closure(shop: Repo, name: str) -> None:
    build_program(shop)
    written = PROGRAM.replace("{type: command, command: [python3, ../src/run.py]}", BESIDE)
    shop.write("agents/support.yaml", written)
    for one in ("reset.sh", "clean.sh", "db.py", "other.py"):
        shop.write(f"ops/{one}", "1\n")
    shop.commit()
    shop.branch("change3")
    shop.write("ops/other.py", "2\n")
    shop.commit()
    assert reasons(plan_of(shop, base="change2")) == []
    shop.write(f"ops/{name}", "2\n")
    shop.commit()
    assert reasons(plan_of(shop, base="change2")) == [f"ops/{name} changed"]


def test_a_service_that_is_edited_is_a_change(shop: Repo) -> None:
    build_program(shop)
    written = PROGRAM.replace("{type: command, command: [python3, ../src/run.py]}", BESIDE)
    shop.write("agents/support.yaml", written)
    shop.commit()
    shop.branch("change3")
    shop.write("agents/support.yaml", written.replace("name: db", "name: data"))
    shop.commit()
    (reason,) = reasons(plan_of(shop, base="change2"))
    assert "spec.runtime" in reason


def test_a_file_renamed_inside_the_closure_is_a_change(shop: Repo) -> None:
    build_program(shop)
    shop.rename("agents/tools.py", "agents/helpers.py")
    shop.commit()
    assert reasons(plan_of(shop, base="main")) == [
        "agents/helpers.py added",
        "agents/tools.py removed",
    ]


def test_watch_replaces_the_folder_as_closure(shop: Repo) -> None:
    build_program(shop)
    shop.write("agents/support.yaml", PROGRAM + "  watch: [/src/**, '*.lock']\n")
    shop.write("agents/uv.lock", "1\n")
    shop.commit()
    shop.branch("change3")
    shop.write("agents/tools.py", "ignored = True\n")
    shop.write("src/deep/down.py", "seen = True\n")
    shop.write("agents/uv.lock", "2\n")
    shop.commit()
    assert reasons(plan_of(shop, base="change2")) == [
        "src/deep/down.py added",
        "agents/uv.lock changed",
    ]


def test_what_a_link_points_to_belongs_to_the_closure(shop: Repo) -> None:
    build_program(shop)
    shop.link("agents/common", "../shared")
    shop.write("shared/money.py", "tax = 1\n")
    shop.commit()
    shop.branch("change3")
    shop.write("shared/money.py", "tax = 2\n")
    shop.commit()
    assert reasons(plan_of(shop, base="change2")) == ["shared/money.py changed"]


ROUNDABOUT: dict[str, tuple[str, str, dict[str, str]]] = {
    "a link over a linked folder": (
        ".",
        "run.py",
        {"agents/run.py": "../links/dir/run.py", "links/dir": "../real"},
    ),
    "a link that goes up behind a link": (
        ".",
        "run.py",
        {"agents/run.py": "../links/deep/../run.py", "links/deep": "../real/deep"},
    ),
    "a word over a linked folder": (".", "../links/dir/run.py", {"links/dir": "../real"}),
    "a word that goes up behind a link": (
        ".",
        "../links/deep/../run.py",
        {"links/deep": "../real/deep"},
    ),
    "a word with the name of an option": (".", "--main=../real/run.py", {}),
    "a working directory below a linked folder": ("../links/up/real", "run.py", {"links/up": ".."}),
    "a link to the whole repository": (".", "all/real/run.py", {"agents/all": ".."}),
    "a link over another that changes": (
        ".",
        "run.py",
        {"agents/run.py": "../links/dir/run.py", "links/dir": "../real"},
    ),
}


@pytest.mark.parametrize("case", ROUNDABOUT)
def test_no_way_round_over_links_leads_out_of_the_closure(shop: Repo, case: str) -> None:
    cwd, word, links = ROUNDABOUT[case]
    shop.checkout("main")
    runtime = f"runtime: {{type: command, cwd: {cwd}, command: [python3, {word}]}}"
    shop.write("agents/support.yaml", AGENT.replace("  tools:", f"  {runtime}\n  tools:"))
    for path in ("real/run.py", "real/deep/also.py", "decoy/run.py"):
        shop.write(path, "print('hi')\n")
    for path, target in links.items():
        shop.link(path, target)
    shop.commit()
    shop.branch("roundabout")
    expected = "real/run.py changed"
    if "changes" in case:
        shop.delete("links/dir")
        shop.link("links/dir", "../decoy")
        expected = "links/dir changed"
    else:
        shop.write("real/run.py", "print('bye')\n")
    shop.commit()
    assert expected in reasons(plan_of(shop, base="main"))


def _without_run(shop: Repo) -> None:
    shop.delete("src/run.py")


def _folder_for_run(shop: Repo) -> None:
    shop.delete("src/run.py")
    shop.write("src/run.py/__main__.py", "print('bye')\n")


def _file_for_folder(shop: Repo) -> None:
    shop.delete("src")
    shop.write("src", "nothing to start\n")


STANDING_THERE = {
    "nothing": (_without_run, ["src/run.py removed"]),
    "a folder, which python starts as well": (
        _folder_for_run,
        ["src/run.py removed", "src/run.py/__main__.py added"],
    ),
    "a file for the folder around it": (_file_for_folder, ["src/run.py removed"]),
}


@pytest.mark.parametrize("case", STANDING_THERE)
def test_what_takes_the_place_of_a_named_file_counts(shop: Repo, case: str) -> None:
    replace, expected = STANDING_THERE[case]
    build_program(shop)
    replace(shop)
    shop.commit()
    plan = plan_of(shop, base="main")
    assert reasons(plan) == expected
    assert evals(plan) == ["support-eval"]


@pytest.mark.parametrize("target", ["../links/dir/other.py", "../links/dir/../src/other.py"])
def test_a_link_on_the_way_that_is_gone_counts(shop: Repo, target: str) -> None:
    build_program(shop)
    shop.link("agents/code.py", target)
    shop.link("links/dir", "../src")
    shop.commit()
    shop.branch("gone")
    shop.delete("links/dir")
    shop.commit()
    assert reasons(plan_of(shop, base="change2")) == [
        "links/dir removed",
        "src/other.py still there, but no longer a file of this Agent",
    ]


@pytest.mark.parametrize("word", ["../src", "--source=../src"])
def test_a_named_folder_belongs_to_the_closure(shop: Repo, word: str) -> None:
    build_program(shop)
    shop.write("agents/support.yaml", PROGRAM.replace("../src/run.py", word))
    shop.commit()
    shop.branch("folder")
    shop.write("src/other.py", "y = 2\n")
    shop.commit()
    assert reasons(plan_of(shop, base="change2")) == ["src/other.py changed"]


@pytest.mark.parametrize("word", ["..", "--project=..", "/", "../../.."])
def test_a_folder_around_the_program_does_not(shop: Repo, word: str) -> None:
    build_program(shop)
    command = f"[uv, run, {word}, ../src/run.py]"
    shop.write("agents/support.yaml", PROGRAM.replace("[python3, ../src/run.py]", command))
    shop.commit()
    shop.branch("around")
    shop.write("src/other.py", "y = 2\n")
    shop.commit()
    assert plan_of(shop, base="change2").changes == ()


def test_folders_linked_to_each_other_in_a_row_all_belong(shop: Repo) -> None:
    """Folders of which each leads to the next."""
    files = {f"chain/d{number}/code.py": "x = 1\n" for number in range(1_000)}
    shop.checkout("main")
    shop.write("agents/support.yaml", PROGRAM)
    shop.write("src/run.py")
    shop.commit()
    shop.commit_many(files)
    for number in range(999):
        shop.link(f"chain/d{number}/next", f"../d{number + 1}")
    shop.link("agents/first", "../chain/d0")
    shop.commit()
    shop.branch("far")
    shop.write("chain/d999/code.py", "x = 2\n")
    shop.commit()
    assert reasons(plan_of(shop, base="main")) == ["chain/d999/code.py changed"]


def test_a_submodule_in_the_closure_counts_and_a_commit_of_our_own_is_none_of_its(
    shop: Repo,
) -> None:
    build_program(shop)
    vendored = f"160000,{shop.id('main')},agents/vendored"
    shop.git("update-index", "--add", "--cacheinfo", vendored)
    shop.git("commit", "--quiet", "--message=Vendored")
    (shop.path / "agents/vendored").mkdir()
    plan = plan_of(shop, base="main")
    assert reasons(plan) == ["agents/vendored added"]
    (lacking,) = plan.lacking
    assert (lacking.path, lacking.where, plan.evals) == ("agents/vendored", "head", ())
    shop.write("agents/run.py", "x = 3\n")
    shop.git("add", "agents/run.py")
    shop.git("commit", "--quiet", "--message=Later")
    plan = plan_of(shop, base="HEAD~1", head="HEAD")
    (warning,) = plan.warnings
    assert "depends on the submodule agents/vendored, whose content is not in this" in warning


def test_a_manifest_beside_the_program_is_no_code(shop: Repo) -> None:
    build_program(shop)
    shop.rename("evals/fixtures.yaml", "agents/fixtures.yaml")
    shop.commit()
    assert plan_of(shop, base="main").changes == ()


def test_new_and_deleted_agents_are_told_apart(shop: Repo) -> None:
    shop.write("agents/second.yaml", AGENT.replace("name: support", "name: second"))
    shop.write(
        "evals/second.yaml",
        EVAL.replace("support", "second", 1).replace("targetAgent: support", "targetAgent: second"),
    )
    shop.commit()
    plan = plan_of(shop)
    assert [(c.agent, c.kind) for c in plan.changes] == [("second", ChangeKind.NEW)]
    assert plan.evals[0].baseline is Baseline.NEW_AGENT
    shop.delete("agents/support.yaml")
    shop.delete("evals")
    shop.commit()
    plan = plan_of(shop)
    assert [(c.agent, c.kind) for c in plan.changes] == [
        ("second", ChangeKind.NEW),
        ("support", ChangeKind.DELETED),
    ]
    assert plan.warnings == ("Agent second is new, but no Eval targets it: not measured.",)
    assert [(r.kind, r.name) for r in plan.removed] == [("Eval", "support-eval")]


def test_an_eval_that_lost_its_agent_is_an_error(shop: Repo) -> None:
    shop.delete("agents/support.yaml")
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop)
    assert "evals/support-eval.yaml:5" in str(caught.value.problems[0])


SELECTING = {
    "fixture": (
        "evals/fixtures.yaml",
        FIXTURES.replace("Hello", "Good day"),
        "fixture greets changed",
    ),
    "new fixture": (
        "evals/more.yaml",
        FIXTURES.split("---\n")[1].replace("greets", "greets-twice"),
        "fixture greets-twice added",
    ),
    "removed fixture": (
        "evals/fixtures.yaml",
        FIXTURES.split("---\n")[0],
        "fixture greets removed",
    ),
    "eval": ("evals/support-eval.yaml", EVAL + "  scoring: {passThreshold: 0.5}\n", "Eval changed"),
}


@pytest.mark.parametrize("case", SELECTING)
def test_a_changed_fixture_or_eval_selects_its_eval(shop: Repo, case: str) -> None:
    path, text, what = SELECTING[case]
    shop.write(path, text)
    shop.commit()
    plan = plan_of(shop)
    assert plan.changes == ()
    assert [reason.what for reason in plan.evals[0].why] == [what]
    assert plan.evals[0].baseline is Baseline.SAME_AGENT


def test_a_changed_calibration_selects_its_eval(shop: Repo) -> None:
    calibration = (
        "apiVersion: gateval/v1\nkind: JudgeCalibration\nmetadata: {name: cal}\nspec:\n"
        "  rubric: Asks why.\n  judgeModels: [scripted/support]\n"
        "  examples: [{candidateOutput: Why?, humanScore: 1.0}]\n"
    )
    shop.write("evals/support-eval.yaml", EVAL + "  judge: {calibration: cal}\n")
    shop.write("evals/cal.yaml", calibration)
    shop.commit()
    shop.branch("change2")
    shop.write("evals/cal.yaml", calibration.replace("1.0", "0.0"))
    shop.commit()
    plan = plan_of(shop, base="change")
    assert [str(reason) for reason in plan.evals[0].why] == [
        "evals/cal.yaml:3 calibration cal changed"
    ]


def test_the_merge_base_is_compared_not_the_tip(shop: Repo) -> None:
    shop.checkout("main")
    shop.write("agents/prompts/support.md", "Moved on.\n")
    tip = shop.commit()
    shop.checkout("change")
    shop.write("README.md", "Nothing relevant.\n")
    shop.commit()
    plan = plan_of(shop)
    assert plan.changes == ()
    assert plan.base is not None
    assert plan.base_tip is not None
    assert plan.base_tip.commit == tip != plan.base.commit


@pytest.mark.parametrize("newer", ["the branch", "the target"])
def test_of_several_merge_bases_none_hides_what_a_merge_brings_back(shop: Repo, newer: str) -> None:
    """A branch from before a fix, merged crosswise, restores what the fix replaced."""
    start = shop.id("main")

    def fix() -> str:
        shop.checkout("main")
        shop.write("agents/prompts/support.md", "Better.\n")
        return shop.commit("Fix the prompt")

    def other() -> str:
        shop.branch("other", start)
        shop.write("README.md", "Nothing relevant.\n")
        return shop.commit("Other")

    steps = (fix, other) if newer == "the branch" else (other, fix)
    commits = {step: step() for step in steps}
    shop.checkout("main")
    shop.git("merge", "--quiet", "--no-ff", "--message=Other", commits[other])
    shop.branch("crosswise", commits[other])
    shop.git("merge", "--quiet", "--no-ff", "--no-commit", commits[fix])
    shop.write("agents/prompts/support.md", PROMPT)
    shop.commit("Merge the fix, but not really")
    plan = plan_of(shop)
    assert reasons(plan) == ["agents/prompts/support.md spec.system"]
    assert evals(plan) == ["support-eval"]
    assert plan.base is not None
    assert plan.base.commit == shop.id("main")
    shop.checkout("main")
    shop.git("merge", "--quiet", "--no-ff", "--message=Crosswise", "crosswise")
    assert (shop.path / "agents/prompts/support.md").read_text() == PROMPT, "so it had to be seen"


def test_rules_come_from_the_base_tip(shop: Repo) -> None:
    shop.write(".github/gateval.yml", "policy: {regressions: off}\n")
    shop.write("agents/prompts/support.md", "Changed.\n")
    shop.commit()
    plan = plan_of(shop)
    assert plan.policy.regressions == "block"
    shop.checkout("main")
    shop.write(".github/gateval.yml", "policy: {regressions: warn}\n")
    shop.commit()
    shop.checkout("change")
    plan = plan_of(shop)
    assert plan.policy.regressions == "warn"
    assert plan.policy_digest == policy_digest(plan.policy)
    assert plan.policy_source.startswith(".github/gateval.yml at ")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("policy: {regresions: warn}\n", "regressions"),
        ("policy: {candidateEnv: [OPENAI_API_KEY]}\n", "gateway"),
    ],
)
def test_a_broken_rule_is_an_error_not_a_default(shop: Repo, text: str, word: str) -> None:
    shop.checkout("main")
    shop.write(".github/gateval.yml", text)
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop)
    assert word in str(caught.value.problems[0])


def test_a_broken_base_does_not_stop_the_change_that_mends_it(shop: Repo) -> None:
    shop.write("agents/support.yaml", AGENT.replace("name: support", "nam: support"))
    shop.commit()
    shop.branch("mend")
    shop.write("agents/support.yaml", AGENT)
    shop.commit()
    plan = plan_of(shop, base="change")
    assert plan.changes[0].kind is ChangeKind.NEW
    assert any("invalid manifest" in warning for warning in plan.warnings)


def test_a_pointer_of_large_file_storage_is_refused(shop: Repo) -> None:
    build_program(shop)
    shop.write("agents/weights.bin", POINTER)
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop, base="main")
    (problem,) = caught.value.problems
    assert "agents/weights.bin is a Git LFS pointer" in str(problem)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (
            "evals/support-eval.yaml",
            "evals/support-eval.yaml:1:1: This file is a Git LFS pointer, which does not say",
        ),
        (
            "agents/prompts/support.md",
            "The prompt file agents/prompts/support.md is a Git LFS pointer.",
        ),
    ],
)
def test_a_pointer_is_taken_for_no_manifest_and_no_prompt(
    shop: Repo, path: str, message: str
) -> None:
    shop.write(path, POINTER)
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop)
    (problem,) = caught.value.problems
    assert message in str(problem)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../elsewhere.yaml"])
def test_an_eval_behind_a_link_out_of_the_repository_is_not_passed_over(
    shop: Repo, target: str
) -> None:
    shop.delete("evals/support-eval.yaml")
    shop.link("evals/support-eval.yaml", target)
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop)
    assert "evals/support-eval.yaml:1:1: A manifest must be a file" in str(caught.value.problems[0])


def test_a_link_to_a_manifest_of_another_name_is_not_passed_over(shop: Repo) -> None:
    shop.rename("evals/support-eval.yaml", "evals/support-eval.txt")
    shop.link("evals/support-eval.yaml", "support-eval.txt")
    shop.link("evals/notes.yaml", "../README.md")
    shop.link("evals/again.yaml", "fixtures.yaml")
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop)
    (problem,) = caught.value.problems
    assert "evals/support-eval.yaml:1:1: A manifest must be a file" in str(problem)


def test_an_eval_too_large_to_look_at_is_not_passed_over(shop: Repo) -> None:
    shop.write("evals/support-eval.yaml", f"{EVAL}# {'x' * ManifestCache.FILE_LIMIT}\n")
    shop.commit()
    with pytest.raises(InvalidManifests) as caught:
        plan_of(shop)
    assert "too many to see whether it is a manifest" in str(caught.value.problems[0])
    shop.checkout("main")
    shop.write(".github/gateval.yml", "manifests: [agents/**]\n")
    shop.commit()
    shop.checkout("change")
    assert plan_of(shop).nothing


def test_only_a_provider_named_scripted_is_scripted(shop: Repo) -> None:
    model = "openrouter/scripted/support"
    shop.write("agents/support.yaml", AGENT.replace("scripted/support", model))
    shop.commit()
    assert plan_of(shop).agents[0].models == (model,)


def test_uncommitted_changes_are_measured_and_the_index_is_left_alone(shop: Repo) -> None:
    index = (shop.path / ".git/index").read_bytes()
    shop.write("agents/prompts/support.md", "Uncommitted.\n")
    plan = plan_of(shop)
    assert plan.head.worktree
    assert plan.agents[-1].side == "base"
    assert plan.agents[0].system == "Uncommitted.\n"
    assert (shop.path / ".git/index").read_bytes() == index


def test_nothing_of_evals_is_read_when_nothing_relevant_changed(shop: Repo) -> None:
    """A broken fixture that the change does not touch is found by `validate`, not by `plan`."""
    shop.checkout("main")
    shop.write("evals/broken.yaml", FIXTURES.replace("severity", "severty"))
    shop.commit()
    shop.branch("later")
    shop.write("README.md", "x\n")
    shop.commit()
    assert plan_of(shop).nothing
    shop.write("agents/prompts/support.md", "Changed.\n")
    with pytest.raises(InvalidManifests):
        plan_of(shop)
