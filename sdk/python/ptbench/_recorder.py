"""Who takes the times of the current step: the processor's clock, or a device's; and who watches it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

Mark = Any
"""A moment: nanoseconds of the monotonic clock, or what a device's clock makes of it later."""
MarkedSpan = tuple[str, Mark, Mark]


class Watcher(Protocol):
    """Marks phases of the steps between `attach` and `detach`."""

    def attach(self) -> None:
        """The next steps' phases are wanted."""

    def detach(self) -> None:
        """They are wanted no more."""


class DeviceClock(Protocol):
    """Moments of a device that works behind the program's back."""

    def mark(self) -> Mark:
        """The moment when the device gets to what is asked of it now."""

    def reached(self, mark: Mark) -> bool:
        """Whether the device has come so far."""

    def nanoseconds(self, mark: Mark) -> int:
        """On the monotonic clock; waits until the device has come so far."""

    def synchronize(self) -> None:
        """Waits for the device, and compares its clock with the processor's."""


class Recorder:
    """One for a process."""

    def __init__(self) -> None:
        self.clock: DeviceClock | None = None
        self.reader: DeviceClock | None = None  # of marks: the newest device's clock, also when it takes none
        self.mark: Callable[[], Mark] = time.monotonic_ns
        self.spans: list[MarkedSpan] | None = None  # of the current step; None: not wanted
        self.watchers: list[Watcher] = []
        self._attached = False

    def use(self, clock: DeviceClock | None) -> None:
        """Takes times by `clock`; by the processor's where it is None. Earlier marks stay readable."""
        self.clock = clock
        self.reader = clock or self.reader
        self.mark = time.monotonic_ns if clock is None else clock.mark

    def want_phases(self, wanted: bool) -> None:
        """Of the next step."""
        self.spans = [] if wanted else None
        if wanted != self._attached:
            self._attached = wanted
            for watcher in self.watchers if wanted else reversed(self.watchers):  # as they wrap each other
                (watcher.attach if wanted else watcher.detach)()

    def add(self, watcher: Watcher) -> None:
        """From now on it watches."""
        self.watchers.append(watcher)
        if self._attached:
            watcher.attach()

    def remove(self, watcher: Watcher) -> None:
        """It watches no more."""
        self.watchers.remove(watcher)
        if self._attached:
            watcher.detach()


recorder = Recorder()
