"""Starts the ranks of train.py, as torchrun would, from a process that does not import PyTorch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time


def leave_at_sigterm() -> None:
    """By an exception, so that what this process started is ended, and what it wrote removed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def start_ranks(count: int, arguments: list[str]) -> int:
    """Runs train.py once a rank with these arguments; ends all where one fails. The exit status of the first."""
    leave_at_sigterm()
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "train.py")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, script, *arguments, "--store", os.path.join(folder, "store")]
        ranks: list[subprocess.Popen[bytes]] = []
        try:
            for rank in range(count):
                variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count}
                ranks.append(subprocess.Popen(
                    command, env={**os.environ, **{name: str(value) for name, value in variables.items()}}))
            return _wait_for(ranks)
        finally:
            _end(ranks)


def _wait_for(ranks: list[subprocess.Popen[bytes]]) -> int:
    while True:
        codes = [rank.poll() for rank in ranks]
        failed = next((code for code in codes if code), None)
        if failed is not None:
            return failed if failed > 0 else 128 - failed
        if None not in codes:
            return 0
        time.sleep(0.02)


def _end(ranks: list[subprocess.Popen[bytes]]) -> None:
    for rank in ranks:
        rank.terminate()
    deadline = time.monotonic() + 5
    for rank in ranks:
        try:
            rank.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            rank.kill()
            rank.wait()
