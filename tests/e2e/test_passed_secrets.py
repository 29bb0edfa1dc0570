"""What a candidate is given on purpose, and says: shown nowhere if its name calls it a secret."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import stored
from tests.helpers.command import gateval
from tests.helpers.shop import AGENT, FIXTURES, build_shop

PROGRAM = """\
import os
print("Hello", *(os.environ[name] for name in ("SHOP_TOKEN", "SHOP_DB", "SHOP_URL", "SHOP_CREDENTIALS", "SHOP_PASSWORD")))
"""
PASSED = {
    "SHOP_TOKEN": "tok-4711-0815-sesame",
    "SHOP_DB": "postgres://shop:open-sesame-0815@db.example/shop",
    "SHOP_URL": "https://shop.example/api",
    "SHOP_CREDENTIALS": "hunter-2",
    "SHOP_PASSWORD": "hunter7",
}


def test_a_secret_that_a_candidate_may_see_is_stored_and_shown_nowhere(tmp_path: Path) -> None:
    shop = build_shop(tmp_path / "shop")
    runtime = "  runtime: {type: command, command: [python3, program.py]}\n  tools:"
    shop.write("agents/support.yaml", AGENT.replace("  tools:", runtime))
    shop.write("agents/program.py", PROGRAM)
    shop.write("evals/fixtures.yaml", FIXTURES.replace("value: Hello", "value: Goodbye"))
    shop.write(".github/gateval.yml", f"policy: {{candidateEnv: [{', '.join(PASSED)}]}}\n")
    shop.commit()

    options = ("--fixture", "greets", "--results", str(tmp_path / "out"))
    done = gateval(shop, "run", "support-eval", *options, **PASSED)

    assert done.returncode == 1, done.stderr
    written = stored.written(tmp_path / "out")
    shown = {**written, "output": done.stdout + done.stderr}
    for secret in (PASSED["SHOP_TOKEN"], PASSED["SHOP_DB"], "open-sesame-0815", "hunter-2"):
        assert [name for name, text in shown.items() if secret in text] == []
    for file in ("results.v1.json", "trials.jsonl"):
        said = (
            f"Hello [secret removed] [secret removed] {PASSED['SHOP_URL']} [secret removed] hunter7"
        )
        assert said in written[file]
    assert "What SHOP_PASSWORD holds is a secret of fewer than 8 characters" in done.stderr
