"""A sealed run with real files, processes and requests: who holds no key learns verdicts alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.helpers import stored
from tests.helpers.command import ROOT, gateval
from tests.helpers.page import ReadPage
from tests.helpers.providers import provider
from tests.helpers.sealed import (
    KEY,
    PRIVATE,
    SECRET_WORDS,
    hidden_words,
    judges,
    leaks,
    sealed_shop,
)
from tests.servers.model_server import Answer, Call


def test_what_is_sealed_is_found_only_encrypted_and_at_the_judges(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop")
    out = tmp_path / "out"
    with provider(judges) as (server, environ):
        done = gateval(shop, "check", "--base", "main", "--results", str(out), **environ, **KEY)
        assert server.calls, done.stdout + done.stderr
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    assert "held-out" in said
    assert "greets" not in said
    assert leaks([tmp_path], [said]) == []
    assert not leaks_of_key(tmp_path, said)
    page = ReadPage((out / "report.html").read_text("utf-8"))
    assert "held-out" in page.text
    assert "greets" not in f"{page.text}{page.lines}{page.blocks}"
    evidence = out / "results.v1.json.age"
    assert evidence.read_bytes().startswith(b"-----BEGIN AGE ENCRYPTED FILE-----")
    results = json.loads((out / "results.v1.json").read_text("utf-8"))
    (planned,) = results["plan"]["sealed"]
    assert planned["fixtures"] == ["greets"]
    assert results["plan"]["evals"] == results["trials"] == []
    (verdict,) = results["sealed"]
    assert (verdict["verdict"], verdict["rate"]) == ("fail", None), "of few, the verdict alone"
    again = gateval(shop, "report", str(out), **KEY)
    assert again.returncode == 1, again.stderr
    assert again.stdout == (out / "summary.txt").read_text("utf-8")

    opened = gateval(shop, "unseal", str(out), "--format", "results", **KEY)
    assert opened.returncode == 0, opened.stderr
    for word in SECRET_WORDS:
        assert word in opened.stdout
    folder = tmp_path / "opened"
    assert gateval(shop, "unseal", str(out), "--output", str(folder), **KEY).returncode == 0
    assert leaks([folder]), "the search finds what is there"
    assert {"ZANZIBAR", "quokka"} <= hidden_words((folder / "report.html").read_bytes())
    shown = gateval(shop, "show", str(folder), "greets")
    assert "quokka" in shown.stdout, shown.stdout + shown.stderr


def leaks_of_key(folder: Path, said: str) -> bool:
    files = (file for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return PRIVATE in said or any(PRIVATE.encode() in stored.content(file) for file in files)


def test_the_candidate_gets_neither_the_key_nor_the_sealed_file(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop")
    shop.write(
        "desk/agent.yaml", (shop.path / "desk/agent.yaml").read_text() + "  include: [/**]\n"
    )
    shop.commit()
    out, folder = tmp_path / "out", tmp_path / "opened"
    with provider(judges) as (_, environ):
        done = gateval(shop, "check", "--base", "main", "--results", str(out), **environ, **KEY)
        assert gateval(shop, "unseal", str(out), "--output", str(folder), **KEY).returncode == 0
    results = json.loads((folder / "results.v1.json").read_text("utf-8"))
    outputs = [one["output"] for one in results["trials"] if one["output"]]
    assert outputs, done.stdout + done.stderr
    assert all("desk.py" in one for one in outputs)
    assert not any("GATEVAL_IDENTITY" in one or ".age" in one for one in outputs)


def test_plan_and_other_views_tell_nothing(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop")
    for words in (["plan", "--base", "main"], ["plan", "--base", "main", "--json"], ["validate"]):
        done = gateval(shop, *words, **KEY)
        assert done.returncode == 0, done.stdout + done.stderr
        assert leaks([], [done.stdout, done.stderr]) == []
        assert "held-out" in done.stdout or words == ["validate"]


def test_an_interrupted_run_keeps_what_is_sealed_sealed(tmp_path: Path) -> None:
    shop, held = sealed_shop(tmp_path / "shop"), tmp_path / "out"

    def slowly(call: Call) -> Answer:
        return Answer(delay=30) if b"Whatever." in call.raw else judges(call)

    with provider(slowly) as (server, environ):
        from tests.helpers.command import start_gateval

        run = start_gateval(
            shop,
            *("check", "--base", "main", "--results", str(held)),
            command=[sys.executable, "-P", "-m", "gateval"],
            **{**environ, **KEY, "PATH": "/usr/bin:/bin"},
        )
        while len(server.calls) < 2 and run.poll() is None:
            try:
                run.wait(0.2)
            except subprocess.TimeoutExpired:
                continue
        run.terminate()
        said = "".join(run.communicate(timeout=60))
    assert run.returncode == 130, said
    assert leaks([tmp_path], [said]) == []
    opened = gateval(shop, "unseal", str(held), "--format", "results", **KEY)
    assert "quokka" in opened.stdout


KEYED = "          GATEVAL_IDENTITY: ${{ secrets.GATEVAL_IDENTITY }}\n"


def test_init_hands_the_key_on_from_an_environment_and_doctor_misses_it(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop")
    shop.checkout("main")
    made = gateval(shop, "init")
    assert made.returncode == 0, made.stderr
    assert "gh secret set GATEVAL_IDENTITY --env evals < key.txt" in made.stdout
    path = shop.path / ".github/workflows/gateval.yml"
    text = path.read_text("utf-8")
    assert KEYED in text
    assert "\n    environment: evals #" in text
    shop.commit("With a workflow")
    fine = gateval(shop, "doctor")
    assert (fine.returncode, "seals" in fine.stdout) == (0, False), fine.stdout
    assert "1 sealed file not opened" in fine.stdout

    without = "".join(one for one in text.splitlines(True) if "IDENTITY" not in one)
    path.write_text(without)
    shop.commit("Without the key")
    for key in ({}, KEY):
        told = gateval(shop, "doctor", **key)
        assert told.returncode == 1, told.stdout
        said = " ".join(told.stdout.split())
        assert "evals/held.yaml.age is sealed, and the step has no GATEVAL_IDENTITY" in said


def test_doctor_wants_the_key_in_both_jobs_of_long_runs(tmp_path: Path) -> None:
    shop = sealed_shop(tmp_path / "shop")
    shop.checkout("main")
    flow = (ROOT / "examples/workflows/long-runs.yml").read_text("utf-8")
    last = "        with:\n          step: publish\n"
    assert last in flow
    shop.write(".github/workflows/long.yml", flow.replace(last, f"        env:\n{KEYED}{last}"))
    shop.commit("The second alone")
    told = " ".join(gateval(shop, "doctor").stdout.split())
    assert "job measure: evals/held.yaml.age is sealed" in told
