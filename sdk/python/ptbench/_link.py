"""The connection to ptbench: packets of JSON on a Unix socket, as docs/steps_protocol.md has them."""

from __future__ import annotations

import json
import math
import os
import socket
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PROTOCOL = "ptbench.steps/1"
LARGEST_MESSAGE = 65_536
MOST_STEPS = 1_024
MOST_PHASES = 64

_ROOM = LARGEST_MESSAGE - 2_048  # leaves place for losses and punctuation

StepTimes = tuple[int, int, int]
"""Number, begin and end (monotonic clock, ns)."""
Span = tuple[str, int, int]
"""Name, begin and end (monotonic clock, ns)."""


class StepsError(RuntimeError):
    """ptbench ended the measurement because of what the program did, or is gone."""


def reports(
    steps: Sequence[StepTimes], losses: Mapping[int, float], spans: Mapping[int, Sequence[Span]]
) -> Iterator[bytes]:
    """Messages about these steps, with the losses and phases of those that have any; none is too long.

    `steps` has one at least.
    """
    if not spans and len(steps) <= MOST_STEPS:  # the common case, and the shortest way
        yield _report([f"{number},{begin},{end}" for number, begin, end in steps], _told(losses), [])
        return
    parts: list[str] = []
    phases: list[str] = []
    own_losses: dict[int, float] = {}
    length = 0
    for number, begin, end in steps:
        part = f"{number},{begin},{end}"
        own = [f"[{number},{json.dumps(name)},{first},{last}]" for name, first, last in spans.get(number, ())]
        more = len(part) + 3 + sum(len(text) + 1 for text in own)
        if parts and (len(parts) == MOST_STEPS or length + more > _ROOM):
            yield _report(parts, _told(own_losses), phases)
            parts, phases, own_losses, length = [], [], {}, 0
        parts.append(part)
        phases += own
        if number in losses:
            own_losses[number] = losses[number]
        length += more
    yield _report(parts, _told(own_losses), phases)


def _told(losses: Mapping[int, float]) -> list[str]:
    return [f"[{number},{loss!r}]" if math.isfinite(loss) else f"[{number},null]" for number, loss in losses.items()]


def _report(steps: list[str], losses: list[str], phases: list[str]) -> bytes:
    fields = [f'"steps":[[{"],[".join(steps)}]]']
    if losses:
        fields.append(f'"losses":[{",".join(losses)}]')
    if phases:
        fields.append(f'"phases":[{",".join(phases)}]')
    return f"{{{','.join(fields)}}}".encode()


class Link:
    """One process's connection. Steps are granted up to ``granted``."""

    def __init__(self, path: str, hello: Mapping[str, Any]) -> None:
        """Connects to the socket at `path` and says hello; raises StepsError where nobody listens."""
        self.granted = 0
        # (first, last) of the steps whose phases ptbench wants, in order.
        self.windows: list[tuple[int, int]] = []
        self.open = True
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            self._socket.connect(path)
            self._socket.send(json.dumps(hello).encode())
        except OSError as error:
            self._socket.close()
            raise StepsError(f"ptbench cannot be reached at PTBENCH_STEPS={path}: {error.strerror}") from error
        _forget_in_children(self)

    def send(self, message: bytes) -> None:
        """Raises StepsError where ptbench is gone, with its last word if it had one."""
        self._refuse_children()
        try:
            self._socket.send(message)
        except OSError:
            while self._read(0):
                pass
            raise self._gone() from None

    def wait_beyond(self, number: int) -> bool:
        """Sleeps until step `number` is granted; False when ptbench has ended the measurement."""
        self._refuse_children()
        while number > self.granted:
            if not self._read(0):
                return False
        return True

    def read_grants(self) -> None:
        """Reads what has come, without waiting. Raises StepsError where ptbench is gone amid granted steps."""
        while True:
            try:
                if not self._read(socket.MSG_DONTWAIT):
                    raise self._gone()
            except BlockingIOError:
                return

    def close(self) -> None:
        """Nothing is sent after this."""
        self.open = False
        self._socket.close()

    def _read(self, flags: int) -> bool:
        """Takes one message; False at the end of the connection."""
        try:
            packet = self._socket.recv(LARGEST_MESSAGE, flags)
        except ConnectionError:
            packet = b""
        if not packet:
            return False
        message = json.loads(packet)
        if "error" in message:
            raise StepsError(f"ptbench ended the measurement: {message['error']}")
        grant = message.get("grant", 0)
        if grant > self.granted:
            if message.get("phases"):
                self.windows.append((self.granted + 1, grant))
            self.granted = grant
        return True

    def _refuse_children(self) -> None:
        if self.granted < 0:
            raise StepsError("a forked process cannot continue the training loop of its parent")

    def _gone(self) -> StepsError:
        return StepsError("ptbench is gone, though it had granted more steps")

    def _forget(self) -> None:
        """In a forked child: the connection stays the parent's."""
        self.open = False
        self.granted = -1  # so that going on with the loop asks, and is refused
        self._socket.close()


def _forget_in_children(link: Link) -> None:
    reference = weakref.ref(link)

    def forget() -> None:
        alive: Link | None = reference()
        if alive is not None:
            alive._forget()

    os.register_at_fork(after_in_child=forget)
