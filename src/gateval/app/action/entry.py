"""What `gateval action` and `gateval action post` do."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator, Mapping
from types import FrameType

from gateval.app.action.context import build_forge, build_request, open_context, secrets_of
from gateval.app.action.result import ActionResult, RunnerOutput
from gateval.app.guard import tell
from gateval.errors import EXIT_INTERRUPTED, EXIT_PASS, GatevalError

STATE_TARGET = "target"
"""The name under which the post entry finds what stands in progress."""

STATE_DONE = "done"
"""Nothing is left to do: what stood in progress was completed."""

STATE_UNFINISHED = "unfinished"
"""What the check run has to say, because GitHub did not take it."""


def run_action(environ: Mapping[str, str]) -> int:
    """Run the gate as the runner's environment says; return the exit status."""
    output = RunnerOutput(environ)
    with output.guarded(secrets_of(environ)):
        result = _result(environ, output)
        sys.stdout.write(result.text)
        if result.error is not None:
            tell(result.error)
    output.finish(result)
    if result.unfinished is None:
        output.keep(STATE_DONE, "true")
    else:
        output.keep(STATE_UNFINISHED, result.unfinished.model_dump_json())
    return result.exit_code


def _result(environ: Mapping[str, str], output: RunnerOutput) -> ActionResult:
    from gateval.app.action.gate import ended_closed, run_gate
    from gateval.app.action.progress import ActionProgress
    from gateval.render.github import announce_trouble

    try:
        request = build_request(environ)
    except GatevalError as error:
        summary = announce_trouble(error).job_summary
        return ActionResult(error.exit_code, summary=summary, error=error)
    if request.trigger.closing:
        return ended_closed("nothing was evaluated, and nothing is written")
    progress = ActionProgress(
        request, lambda target: output.keep(STATE_TARGET, target.model_dump_json())
    )
    try:
        with _ended_by_signals(), open_context(environ, request) as context:
            result = run_gate(context, progress)
    except GatevalError as error:
        result = progress.report_error(error)
    except KeyboardInterrupt:
        unfinished = progress.cancel()
        text = "gateval: interrupted.\n"
        result = ActionResult(EXIT_INTERRUPTED, text=text, unfinished=unfinished)
    except Exception:
        progress.break_off()
        raise
    return progress.without_hope(result)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Have SIGTERM end the block as Ctrl-C does; while trials run, the run itself listens."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def close_action(environ: Mapping[str, str]) -> int:
    """Complete a check run that a crash, or GitHub, left in progress.

    The job's status is not changed by it.
    """
    kept = environ.get(f"STATE_{STATE_UNFINISHED}", "")
    begun = environ.get(f"STATE_{STATE_TARGET}", "")
    if not kept and (not begun or environ.get(f"STATE_{STATE_DONE}")):
        return EXIT_PASS
    from pydantic import ValidationError

    from gateval.publish.github import complete_left_open, complete_unfinished
    from gateval.publish.target import PublishTarget, Unfinished

    token = environ.get("INPUT_TOKEN", "")
    forge = build_forge(environ, token, environ.get("GITHUB_REPOSITORY", ""))
    try:
        done = (
            complete_unfinished(forge, Unfinished.model_validate_json(kept))
            if kept
            else complete_left_open(forge, PublishTarget.model_validate_json(begun))
        )
    except ValidationError:
        print("gateval: the state of the action's own entry cannot be read.", file=sys.stderr)
        return EXIT_PASS
    RunnerOutput(environ).finish(ActionResult(EXIT_PASS, warnings=done.warnings))
    return EXIT_PASS
