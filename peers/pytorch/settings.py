#!/usr/bin/env python3
"""Which of PyTorch's settings win: one setting the other way, interleaved with what train.py chooses.

    build/peers/venv/bin/python peers/pytorch/settings.py -w resnet18 -b 8 --precision bf16 --threads 1

Prints for each setting the geometric mean over rounds of its step's time divided by the chosen one's, with the
95 % interval: over 1, the choice is right. CPU time of the process is taken with one thread, so that a busy
machine disturbs less; for several threads, the clock. For choosing, not for publishing.
"""

from __future__ import annotations

import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "bench")]

import options as option_rows  # noqa: E402

ROUNDS, SECONDS = 8, 0.4


def variants(options: list[str]) -> dict[str, list[str]]:
    """Name -> options; the first one is what train.py chooses."""
    found = {"chosen": [], "channels_last on": ["--channels-last", "on"], "channels_last off": ["--channels-last", "off"],
             "torch.compile": ["--compile"], "optimizer foreach": [], "denormals kept": []}
    if not any(word.startswith("resnet") for word in options):
        del found["channels_last on"], found["channels_last off"]
    return found


def main() -> None:
    given = sys.argv[1:]
    first = option_rows.parse(given)
    place = option_rows.Place(0, 1, 0)
    threads = option_rows.take_cores(first, place)
    import evidence
    import torch
    import training

    torch.set_flush_denormal(True)
    torch.set_num_threads(threads)
    device = training.choose_device(first, place)
    clock = time.process_time if threads == 1 else time.perf_counter
    replicas = {}
    for name, more in variants(given).items():
        replica = training.Training(option_rows.parse([*given, *more]), place, device)
        if name == "optimizer foreach":
            for group in replica.optimizer.param_groups:
                group["fused"], group["foreach"] = False, True
        replica.step(0)
        replicas[name] = replica

    def step_seconds(name: str) -> float:
        torch.set_flush_denormal(name != "denormals kept")
        replica, steps, begin = replicas[name], 0, clock()
        while clock() < begin + SECONDS or steps < 2:
            replica.step(steps)
            steps += 1
        return (clock() - begin) / steps

    seconds = {name: [] for name in replicas}
    for _ in range(ROUNDS):
        for name in replicas:
            seconds[name].append(step_seconds(name))
    for name, own in seconds.items():
        found = evidence.ratio([a / b for a, b in zip(own, seconds["chosen"])])
        print(f"{name:18} {1e3 * min(own):8.2f} ms at best, {found.middle:.3f} of the chosen one's"
              + ("" if found.low is None else f" [{found.low:.3f}, {found.high:.3f}]"), flush=True)


if __name__ == "__main__":
    main()
