"""Which steps behind the gate's upload its results for sure."""

from __future__ import annotations

import pytest

from gateval.formats.github.workflow import GateRun, uploads
from tests.helpers.command import ROOT

PATH = ".github/workflows/x.yml"
GATE = "{id: gate, uses: gateval/gateval@v1}"
ALWAYS = "uses: actions/upload-artifact@v6, if: always(), with: {include-hidden-files: true, "


def _up(condition: str) -> str:
    return (
        f"{{uses: actions/upload-artifact@v6, {condition}"
        "with: {path: .gateval/results, include-hidden-files: true}}"
    )


def _linked(*steps: str, status: int, job: str = "a", more: str = "") -> bool:
    text = f"jobs: {{a: {{steps: [{', '.join(steps)}]}}{more}}}"
    run = GateRun(status, "pull_request", "acme/shop", job)
    return uploads(PATH, text.encode(), ".gateval/results", run)


@pytest.mark.parametrize(
    ("condition", "red", "green"),
    [
        ("", False, True),
        ("if: '', ", False, True),
        ("if: success(), ", False, True),
        ("if: always(), ", True, True),
        ("if: failure(), ", True, False),
        ("if: cancelled(), ", False, False),
        ("if: '!cancelled()', ", True, True),
        ("if: '${{ !cancelled() }}', ", True, True),
        ("if: success() || failure(), ", True, True),
        ("if: '${{ false }}', ", False, False),
        ("if: false, ", False, False),
        ("if: true, ", False, True),
        ("if: 0, ", False, False),
        ("if: \"github.ref != 'always()'\", ", False, False),
        ("if: \"github.event_name == 'pull_request'\", ", False, True),
        ("if: \"always() && github.event_name == 'pull_request'\", ", True, True),
        ("if: \"always() && github.event_name == 'push'\", ", False, False),
        ("if: \"always() && steps.gate.outcome == 'failure'\", ", True, False),
        ("if: always() && vars.KEEP, ", False, False),
        ("if: 'always() && ${{ true }}', ", False, False),
        ("if: always(, ", False, False),
    ],
)
def test_an_upload_runs_where_its_condition_holds(
    condition: str, *, red: bool, green: bool
) -> None:
    assert _linked(GATE, _up(condition), status=1) is red
    assert _linked(GATE, _up(condition), status=0) is green


ANY, PLAIN, OTHER = _up("if: always(), "), _up(""), "{run: make}"
TOLERATED = "{uses: gateval/gateval@v1, continue-on-error: true}"
PERHAPS = "{uses: gateval/gateval@v1, continue-on-error: '${{ vars.SOFT }}'}"


@pytest.mark.parametrize(
    ("steps", "red", "green"),
    [
        ((OTHER, GATE, PLAIN), False, True),
        ((GATE, OTHER, PLAIN), False, False),
        ((GATE, OTHER, _up("if: failure(), ")), True, False),
        ((GATE, OTHER, ANY), True, True),
        ((ANY, GATE), False, False),
        ((GATE, ANY, GATE), False, False),
        ((GATE, GATE, ANY), True, True),
        ((GATE, GATE, PLAIN), False, False),
        ((TOLERATED, PLAIN), True, True),
        ((TOLERATED, _up("if: failure(), ")), False, False),
        ((PERHAPS, PLAIN), False, True),
        ((PERHAPS, _up("if: failure(), ")), False, False),
        (("{uses: gateval/gateval@v1, if: always()}", PLAIN), False, False),
        ((ANY,), False, False),
        ((GATE, ANY.replace("artifact@", "artifact/merge@")), False, False),
    ],
)
def test_an_upload_stands_behind_the_gate(
    steps: tuple[str, ...], *, red: bool, green: bool
) -> None:
    assert _linked(*steps, status=1) is red
    assert _linked(*steps, status=0) is green


@pytest.mark.parametrize(
    ("job", "more", "there"),
    [
        ("a", "", True),
        ("", "", True),
        ("b", "", False),
        ("a", f", b: {{steps: [{GATE}]}}", True),
        ("", f", b: {{steps: [{GATE}]}}", False),
        ("b", f", b: {{steps: [{GATE}]}}", False),
        ("a", ", b: {uses: ./.github/workflows/other.yml}", False),
    ],
)
def test_an_upload_is_of_the_run_s_own_job(job: str, more: str, *, there: bool) -> None:
    assert _linked(GATE, ANY, status=1, job=job, more=more) is there


@pytest.mark.parametrize(
    ("paths", "there"),
    [
        (".gateval/results", True),
        ("./.gateval//results/", True),
        (".gateval/**/*", True),
        (".", True),
        ("**", True),
        ("${{ github.workspace }}/.gateval", True),
        ("${{github.workspace}}", True),
        ("${{ steps.gate.outputs.results }}/**", True),
        ("${{ steps.other.outputs.results }}", False),
        ("${{ env.RESULTS }}", False),
        ("# .gateval/results", False),
        ("", False),
        (r"a\n.gateval/results\n!.gateval/results", False),
        (r".gateval\n!.gateval/results/**", False),
        (r".gateval\n!.gateval/results/gate/run.v1.json", False),
        (r".gateval\n! **/*.json", False),
        (r".gateval\n!x/../.gateval", False),
        (r".gateval\n!${{ env.SECRET }}", False),
        (r".gateval\n!${{ github.workspace }}/.gateval", False),
        (r".gateval\n!.gateval/layers\n!coverage/**", True),
        (r"!.gateval\n.gateval/results", True),
        ("!!.gateval/results", True),
    ],
)
def test_an_upload_takes_in_the_results(paths: str, *, there: bool) -> None:
    assert _linked(GATE, f'{{{ALWAYS}path: "{paths}"}}}}', status=1) is there


def test_the_sample_uploads_whatever_the_verdict_is() -> None:
    data = (ROOT / "examples/workflows/gate.yml").read_bytes()
    for status in (0, 1, 2):
        run = GateRun(status, "pull_request", "acme/shop", "evals")
        assert uploads(PATH, data, ".gateval/results/gate", run)
