"""Times one training step of a ptbench workload in PyTorch, tuned, for side-by-side measurement.

    python step_time.py linear|mlp [--threads N] [--compile] [--seconds S]

Fused optimizer, pinned OpenMP threads (set OMP_PROC_BIND=close), inputs that are already in memory.
Prints one JSON line whose `step_seconds` is the median.
"""
import argparse
import json
import os
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

BATCH = {"linear": 32, "mlp": 128}
WIDTH = {"linear": 10, "mlp": 784}
CLASSES = {"linear": 2, "mlp": 10}


def build(workload):
    if workload == "linear":
        model = nn.Linear(10, 2)
        return model, torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    model = nn.Sequential(
        nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    return model, torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, fused=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("workload", choices=BATCH)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--seconds", type=float, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    batch = BATCH[arguments.workload]
    model, optimizer = build(arguments.workload)
    inputs = [torch.randn(batch, WIDTH[arguments.workload]) for _ in range(4)]
    labels = [torch.randint(0, CLASSES[arguments.workload], (batch,)) for _ in range(4)]
    forward = torch.compile(model) if arguments.compile else model

    def step(index):
        optimizer.zero_grad(set_to_none=True)
        loss = functional.cross_entropy(forward(inputs[index % 4]), labels[index % 4])
        loss.backward()
        optimizer.step()

    def run_for(seconds):
        samples = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            begin = time.perf_counter()
            step(len(samples))
            samples.append(time.perf_counter() - begin)
        return samples

    step(0)  # compiles
    run_for(arguments.seconds / 4)
    samples = run_for(arguments.seconds)
    print(json.dumps({
        "workload": arguments.workload,
        "engine": f"PyTorch {torch.__version__}" + (" compiled" if arguments.compile else " eager"),
        "threads": arguments.threads,
        "steps": len(samples),
        "step_seconds": statistics.median(samples),
    }))


if __name__ == "__main__":
    main()
