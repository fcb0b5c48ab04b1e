"""train.py --verify, the part without PyTorch: lets ptbench make a few steps, then the ranks compare.

For each of the first steps the ranks start from the weights that ptbench had there, so that single steps from
equal weights are compared, and not trajectories: one ReLU whose input rounds to the other side of zero moves
those apart.
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import subprocess
import sys
import tempfile

import launch
from options import ABSENT, USAGE, refuse

STEPS = 4
INITIAL = "0.safetensors"
LOSSES = "losses.csv"
# Of the length of PyTorch's first update divided by that of ptbench's, and how far the cosine between the two
# may be from 1: rounded products scatter in direction, and hardly in length.
LENGTH_TOLERANCE = {"fp32": 0.01, "tf32": 0.03, "bf16": 0.03, "fp16": 0.03}
COSINE_TOLERANCE = {"fp32": 1e-3, "tf32": 0.1, "bf16": 0.1, "fp16": 0.1}
# Through more nonlinear layers rounding turns correct gradients further: where products are rounded, so far that
# their direction tells nothing (docs/verification.md says so of ptbench's own).
MOST_NONLINEAR = 20
DEEP_COSINE_TOLERANCE = {"fp32": 5e-3, "tf32": math.inf, "bf16": math.inf, "fp16": math.inf}


def weights_before(step: int) -> str:
    """Name of the file with the weights that step `step`, from 0, starts from."""
    return f"{step}.safetensors"


def is_same_update(length: float, cosine: float, precision: str, nonlinear: int) -> bool:
    """Of a model of so many nonlinear layers; False where one is not a number."""
    cosines = DEEP_COSINE_TOLERANCE if nonlinear > MOST_NONLINEAR else COSINE_TOLERANCE
    return abs(length - 1) <= LENGTH_TOLERANCE[precision] and 1 - cosine <= cosines[precision]


def run(options: argparse.Namespace, arguments: list[str]) -> int:
    """0 where all losses agree, 2 where one does not."""
    launch.leave_at_sigterm()
    # ptbench removes its own folder, whatever becomes of this process.
    with tempfile.TemporaryDirectory(dir=os.environ.get("PTBENCH_SCRATCH")) as folder:
        _let_ptbench_train(options, pathlib.Path(folder))
        return launch.start_ranks(options.nproc if options.strategy == "ddp" else 1,
                                  [*arguments, "--verify-folder", folder])


def _command(options: argparse.Namespace, folder: pathlib.Path) -> list[str]:
    """Everything is said, so that no default of ptbench can differ from PyTorch's side."""
    command = [options.ptbench, "run", "--workload", options.workload, "--strategy", options.strategy,
               "--nproc", str(options.nproc), "--device", options.device, "--precision", options.precision,
               "--accumulate", str(options.accumulate), "--optimizer", options.optimizer, "--lr", str(options.lr),
               "--weight-decay", str(options.weight_decay), "--shuffle", options.shuffle, "--data", options.data,
               "--seed", str(options.seed), "--loss-scale", options.loss_scale, "--verify", "off", "--warmup", "0",
               "--plan", str(folder / "plan.json")]
    if options.optimizer == "sgd":
        command += ["--momentum", str(options.momentum)]
    for name in ("threads", "batch_size", "samples"):
        if getattr(options, name) is not None:
            command += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
    return command


def _let_ptbench_train(options: argparse.Namespace, folder: pathlib.Path) -> None:
    """Leaves in the folder the weights before each of the steps, and the losses of all."""
    command = _command(options, folder)
    variables = {key: value for key, value in os.environ.items() if key != "PTBENCH_STEPS"} | {"TMPDIR": str(folder)}
    start = ["--initial-weights", options.initial_weights] if options.initial_weights else []
    for steps in range(1, STEPS + 1):
        written = ["--save-initial-weights", str(folder / INITIAL), "--loss-log", str(folder / LOSSES),
                   "--save-final-weights", str(folder / weights_before(steps))]
        try:
            done = subprocess.run([*command, *start, "--steps", str(steps), *written], capture_output=True, text=True,
                                  env=variables)
        except OSError as error:
            refuse(f"--ptbench {options.ptbench}: {error.strerror}")
        if done.returncode != 0:
            print(done.stderr, file=sys.stderr, end="")
            refuse(f"ptbench ended with {done.returncode}; so there is nothing to compare with",
                   ABSENT if done.returncode == ABSENT else USAGE)
