"""train.py --verify, the part of each rank: single steps from ptbench's weights, on ptbench's batches."""

from __future__ import annotations

import argparse
import csv
import json
import math
import pathlib

import safetensors.torch
import torch
from options import USAGE, refuse
from torch import distributed
from training import Training
from verify_run import LOSSES, STEPS, is_same_update, weights_before

FAILED = 2
# Of the loss, as a share of max(1, loss): fp32, and what rounds products.
LOSS_TOLERANCE = {"fp32": 1e-5, "tf32": 2e-2, "bf16": 2e-2, "fp16": 2e-2}


def compare(replica: Training, options: argparse.Namespace) -> int:
    """Prints what was compared, as JSON, on rank 0; 0 where all agrees, 2 where not."""
    folder = pathlib.Path(options.verify_folder)
    with (folder / LOSSES).open(newline="", encoding="utf-8") as file:
        expected = [float(row["loss"]) for row in csv.DictReader(file)]
    if len(expected) != STEPS:
        refuse(f"ptbench logged {len(expected)} losses for {STEPS} steps", USAGE)
    steps = []
    length = cosine = 1.0
    for step in range(STEPS):
        replica.load(str(folder / weights_before(step)))
        loss = _mean_of_ranks(replica.step(step))
        difference = abs(loss - expected[step]) / max(1.0, abs(expected[step]))
        steps.append({"step": step, "ptbench": _number(expected[step]), "pytorch": _number(loss),
                      "difference": _number(difference)})
        if step == 0:
            length, cosine = _update(replica, folder)
        replica.optimizer.state.clear()  # the weights of the next step come from ptbench
    worst = max(math.inf if row["difference"] is None else row["difference"] for row in steps)
    tolerance = LOSS_TOLERANCE[options.precision]
    # A scaler may skip its first steps.
    same_update = options.loss_scale != "none" or is_same_update(length, cosine, options.precision,
                                                                 replica.workload.nonlinear)
    passed = worst <= tolerance and same_update
    if not distributed.is_initialized() or distributed.get_rank() == 0:
        print(json.dumps({"verification": "passed" if passed else "failed", "max_relative_error": _number(worst),
                          "tolerance": tolerance, "update_length": _number(length),
                          "update_cosine": _number(cosine),
                          "steps": steps}), flush=True)
    return 0 if passed else FAILED


def _number(value: float) -> float | None:
    """As JSON has it, which knows neither infinity nor NaN."""
    return value if math.isfinite(value) else None


def _mean_of_ranks(loss: torch.Tensor) -> float:
    if distributed.is_initialized():
        loss = loss.double()
        distributed.all_reduce(loss)
        loss = loss / distributed.get_world_size()
    return float(loss)


def _update(replica: Training, folder: pathlib.Path) -> tuple[float, float]:
    """|p| / |q| of PyTorch's update p in its first step and ptbench's, q, over all parameters; their cosine."""
    before = safetensors.torch.load_file(str(folder / weights_before(0)))
    after = safetensors.torch.load_file(str(folder / weights_before(1)))
    products = own_squares = their_squares = 0.0
    for name, parameter in replica.core.named_parameters():
        theirs = (after[name] - before[name]).double()
        ours = parameter.detach().cpu().double() - before[name].double()
        products += float((ours * theirs).sum())
        own_squares += float((ours * ours).sum())
        their_squares += float((theirs * theirs).sum())
    if own_squares == 0 or their_squares == 0:  # as where a loss scaler skips the step
        return math.nan, math.nan
    return math.sqrt(own_squares / their_squares), products / math.sqrt(own_squares * their_squares)
