"""What `gateval action` and `gateval action post` do."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator, Mapping
from types import FrameType

from gateval.app.action.ending import Ending
from gateval.app.action.scene import build_forge, build_scene, secrets_of
from gateval.app.action.voice import Voice
from gateval.app.guard import tell
from gateval.errors import EXIT_INTERRUPTED, EXIT_PASS, GatevalError

STATE_TARGET = "target"
"""The name under which the post entry finds what stands in progress."""

STATE_DONE = "done"


def run_action(environ: Mapping[str, str]) -> int:
    """Run the gate as the runner's environment says; return the exit status."""
    voice = Voice(environ)
    with voice.guarded(secrets_of(environ)):
        ending = _ending(environ, voice)
        sys.stdout.write(ending.text)
        if ending.error is not None:
            tell(ending.error)
    voice.end(ending)
    voice.keep(STATE_DONE, "true")
    return ending.exit_code


def _ending(environ: Mapping[str, str], voice: Voice) -> Ending:
    from gateval.app.action.story import Story
    from gateval.render.github.trouble import announce_trouble

    try:
        scene = build_scene(environ)
    except GatevalError as error:
        summary = announce_trouble(error).job_summary
        return Ending(error.exit_code, summary=summary, error=error)
    story = Story(scene, lambda target: voice.keep(STATE_TARGET, target.model_dump_json()))
    try:
        with _ended_by_signals():
            return story.tell()
    except GatevalError as error:
        return story.trouble(error)
    except KeyboardInterrupt:
        story.cancel()
        return Ending(EXIT_INTERRUPTED, text="gateval: interrupted.\n")
    except Exception:
        story.break_off()
        raise


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
    """Complete a check run that a crash left in progress. The job's status is not changed by it."""
    text = environ.get(f"STATE_{STATE_TARGET}", "")
    if not text or environ.get(f"STATE_{STATE_DONE}"):
        return EXIT_PASS
    from pydantic import ValidationError

    from gateval.publish.github import complete_left_open
    from gateval.publish.outcome import Publication
    from gateval.publish.target import Target

    try:
        target = Target.model_validate_json(text)
    except ValidationError:
        print("gateval: the state of the action's own entry cannot be read.", file=sys.stderr)
        return EXIT_PASS
    token = environ.get("INPUT_TOKEN", "")
    forge = build_forge(environ, token, environ.get("GITHUB_REPOSITORY", ""))
    note = complete_left_open(forge, target)
    Voice(environ).end(Ending(EXIT_PASS, warnings=Publication(notes=(note,)).warnings))
    return EXIT_PASS
