"""Notes which trials were begun and not finished, for a run that somebody cancels."""

from __future__ import annotations

from gateval.domain.trials.trial import TrialKey
from gateval.events import Event, Listener, TrialFinished, TrialStarted


class UnderWay:
    """The trials that run now."""

    def __init__(self) -> None:
        self._keys: dict[TrialKey, None] = {}

    @property
    def keys(self) -> tuple[TrialKey, ...]:
        """Their keys, in report order."""
        return tuple(sorted(self._keys, key=lambda key: key.order))

    def heard_by(self, listen: Listener) -> Listener:
        """Return a listener that takes note and tells `listen`."""

        def noted(event: Event) -> None:
            if isinstance(event, TrialStarted):
                self._keys[event.key] = None
            elif isinstance(event, TrialFinished):
                self._keys.pop(event.trial.key, None)
            listen(event)

        return noted
