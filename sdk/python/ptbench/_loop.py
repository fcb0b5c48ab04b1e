"""The loop over steps."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from ptbench import _world
from ptbench._link import MOST_STEPS, PROTOCOL, Link, Span, StepTimes, reports
from ptbench._recorder import Mark, MarkedSpan, Recorder, recorder
from ptbench._spans import disjoint

VARIABLE = "PTBENCH_STEPS"
_PACE = 50_000_000  # ns between two reports
_NO_PHASE: AbstractContextManager[None] = contextlib.nullcontext()


class _Phase:
    """Notes when it is entered and left."""

    __slots__ = ("_begin", "_name", "_recorder", "_spans")

    def __init__(self, spans: list[MarkedSpan], name: str) -> None:
        self._spans = spans
        self._name = name

    def __enter__(self) -> None:
        self._begin = recorder.mark()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._spans.append((self._name, self._begin, recorder.mark()))


class Step:
    """One training step: what the loop's body does between two rounds of the loop.

    `number` counts from 1. `loss` may be set to a number or to a tensor of one element, which is read after
    the step. A loop has one Step, which becomes the next one when that begins.
    """

    __slots__ = ("_spans", "loss", "number")

    def __init__(self, number: int, spans: list[MarkedSpan] | None = None) -> None:
        self.number = number
        self.loss: Any = None
        self._spans = spans

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Marks what runs in the ``with`` block as a phase of this step.

        ptbench knows data, scatter, replicate, forward, gather, backward, reduce, communication,
        communication_exposed and optimizer; what has another name counts as other.
        """
        return _NO_PHASE if self._spans is None else _Phase(self._spans, name)


def steps(
    samples: int,
    *,
    count: int | None = None,
    tokens: int | None = None,
    precision: str | None = None,
    device: str | None = None,
) -> Iterator[Step]:
    """Steps to train, for as long as ptbench wants.

    `samples` (and `tokens`) are those that this process trains on in one step, accumulation included;
    `precision` (fp32, tf32, bf16, fp16) and `device` (cpu, cuda:0) are told to ptbench as they are. Without
    ptbench around the program, there are `count` steps, or endlessly many where that is None.

    Make one loop in a process: where training has epochs, make the iterator before them and go on with it in
    each, ``for batch, step in zip(loader, steps)``. ptbench counts memory from this call on: made after the
    imports, it does not count them. Raises StepsError where ptbench objects or disappears.
    """
    if samples < 1:
        raise ValueError(f"a step trains on at least 1 sample, not {samples}")
    path = os.environ.get(VARIABLE)
    if not path:
        return _unmeasured(count)
    rank, world_size = _world.place()
    hello: dict[str, Any] = {
        "protocol": PROTOCOL,
        "rank": rank,
        "world_size": world_size,
        "samples": samples,
        "device": device or _world.device(),
        "framework": _world.framework(),
        "pid": os.getpid(),
    }
    if precision is not None:
        hello["precision"] = precision
    if tokens is not None:
        hello["tokens"] = tokens
    global _loops_begun
    _loops_begun += 1
    if _loops_begun > 1:
        print("ptbench: this process has already run its measured loop, so this loop has no steps. Call"
              " ptbench.steps() once, before the epochs.", file=sys.stderr)
        return iter(())
    link = Link(path, hello)
    return _measured(link, _Report(link))


_loops_begun = 0


def _unmeasured(count: int | None) -> Iterator[Step]:
    step = Step(0)
    while count is None or step.number < count:
        step.number += 1
        step.loss = None
        yield step


def _measured(link: Link, report: _Report) -> Iterator[Step]:
    """Beside the step there are one look at the clock and one list entry; the rest is between reports."""
    keep, losses, windows = report.steps.append, report.losses, link.windows
    step = Step(0)
    number = send_at = send_by = 0
    begin: Mark = 0
    mark, now = recorder.mark, time.monotonic_ns
    try:
        while True:
            number += 1
            if number > link.granted:
                report.send(wait=True)
                if not link.wait_beyond(number):
                    return
                send_at, send_by, mark = now() + _PACE, number + MOST_STEPS - 1, recorder.mark
                begin = mark()
            if windows:
                recorder.want_phases(report.wants_phases(number))
                step._spans = recorder.spans
            step.number = number
            step.loss = None
            yield step
            end = mark()
            keep((number, begin, end))
            if step.loss is not None:
                losses.keep(number, step.loss)
            if step._spans is not None:
                report.spans[number] = step._spans
                step._spans = None
            if (end if isinstance(end, int) else now()) >= send_at or number >= send_by:
                report.send()
                if number < link.granted:  # else the next step waits for a grant, or for the end
                    link.read_grants()
                send_at, send_by, mark = now() + _PACE, number + MOST_STEPS, recorder.mark
                begin = mark()
            else:
                begin = end
    finally:
        report.finish()


class _Losses:
    """The first and the newest loss, which are all that is told: reading one may wait for a device."""

    def __init__(self) -> None:
        self._first: tuple[int, Any] | None = None
        self._newest: tuple[int, Any] | None = None
        self._told = 0

    def keep(self, number: int, loss: Any) -> None:
        if self._first is None:
            self._first = self._newest = (number, loss)
        else:
            self._newest = (number, loss)

    def take(self) -> dict[int, float]:
        """Those that were not taken before."""
        untold = [one for one in (self._first, self._newest) if one is not None and one[0] > self._told]
        taken = {number: float(loss.detach() if hasattr(loss, "detach") else loss) for number, loss in untold}
        self._told = max(taken, default=self._told)
        if self._told:
            self._first, self._newest = (self._told, None), None  # holds no tensor
        return taken


class _Report:
    """What ptbench has not been told yet."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.steps: list[tuple[int, Mark, Mark]] = []
        self.losses = _Losses()
        self.spans: dict[int, list[MarkedSpan]] = {}
        self._told = 0  # end of the last step that was told, ns
        atexit.register(_finish, weakref.ref(self))

    def wants_phases(self, number: int) -> bool:
        windows = self.link.windows
        while windows and windows[0][1] < number:
            del windows[0]
        return bool(windows) and windows[0][0] <= number

    def send(self, wait: bool = False) -> None:
        """Tells of the steps that are over on their device too; with `wait`, of all."""
        clock = recorder.reader
        if clock is not None and wait:
            clock.synchronize()
        over = self._over(wait)
        if not over:
            return
        # Reading a loss waits for its device: only where that is waited for anyway.
        losses = self.losses.take() if clock is None or wait else {}
        spans = {number: disjoint(self._in_step(number, begin, end)) for number, begin, end in over
                 if number in self.spans}
        for message in reports(over, losses, spans):
            self.link.send(message)
        for number in spans:
            del self.spans[number]

    def finish(self) -> None:
        """Tells of all that is left, and closes the connection; does nothing the second time."""
        recorder.want_phases(False)
        if not self.link.open:
            return
        try:
            self.send(wait=True)
        except Exception as error:  # the program is ending, perhaps because of this very error
            print(f"ptbench: the last steps could not be reported: {error}", file=sys.stderr)
        finally:
            self.link.close()

    def _over(self, wait: bool) -> list[StepTimes]:
        """Takes them out, in nanoseconds; each begins when the one before has ended, or later."""
        if recorder.reader is None:  # marks are nanoseconds already, and in order
            over = self.steps.copy()
            self.steps.clear()
            return over
        ready = len(self.steps)
        if not wait:
            ready = 0
            while ready < len(self.steps) and _reached(recorder, self.steps[ready][2]):
                ready += 1
        over = []
        for number, begin, end in self.steps[:ready]:
            first = max(_nanoseconds(recorder, begin), self._told)
            self._told = max(_nanoseconds(recorder, end), first)
            over.append((number, first, self._told))
        del self.steps[:ready]
        return over

    def _in_step(self, number: int, begin: int, end: int) -> list[Span]:
        """Its spans in nanoseconds, none beyond its ends."""
        spans: list[Span] = []
        for name, first, last in self.spans[number]:
            inside = max(_nanoseconds(recorder, first), begin)
            spans.append((name, inside, max(inside, min(_nanoseconds(recorder, last), end))))
        return spans


def _reached(taker: Recorder, mark: Mark) -> bool:
    return isinstance(mark, int) or taker.reader is None or taker.reader.reached(mark)


def _nanoseconds(taker: Recorder, mark: Mark) -> int:
    return mark if isinstance(mark, int) or taker.reader is None else taker.reader.nanoseconds(mark)


def _finish(reference: weakref.ref[_Report]) -> None:
    report = reference()
    if report is not None:
        report.finish()
