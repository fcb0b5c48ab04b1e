"""Lets ptbench measure the steps of a training script.

    for step in ptbench.steps(samples=64):
        with step.phase("forward"):
            loss = model(batch)
        ...
        step.loss = loss

Under ``ptbench run --program 'python train.py'`` the loop tells ptbench when each step began and ended, and
goes on for as long as ptbench wants; without ptbench around it, the same loop just runs. ``ptbench.torch``
marks the phases of a PyTorch model by hooks. The protocol is ``ptbench.steps/1``, docs/steps_protocol.md.
"""

from __future__ import annotations

import importlib
from typing import Any

from ptbench._link import StepsError
from ptbench._loop import Step, steps

__all__ = ["Step", "StepsError", "steps", "torch"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``ptbench.torch`` is imported when it is used: it needs PyTorch, the rest needs nothing."""
    if name == "torch":
        return importlib.import_module("ptbench.torch")
    raise AttributeError(f"module 'ptbench' has no attribute {name!r}")
