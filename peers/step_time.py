"""Times one training step of a ptbench workload in PyTorch, tuned, for side-by-side measurement.

    python step_time.py WORKLOAD [--precision fp32|bf16] [--threads N] [--batch B] [--compile]
                        [--seconds S]

Fused optimizer, pinned OpenMP threads (set OMP_PROC_BIND=close), inputs that are already in memory,
channels_last for images in bf16 (it wins there and loses in fp32). Prints one JSON line whose
`step_seconds` is the median and whose `peak_memory_bytes` is the largest resident size.
"""
import argparse
import json
import os
import resource
import statistics
import time

import torch
from torch.nn import functional

import models


def optimizer_of(workload, parameters):
    if workload == "linear":
        return torch.optim.Adam(parameters, 1e-3, fused=True)
    return torch.optim.SGD(parameters, 0.01, momentum=0.9,
                           weight_decay=models.WEIGHT_DECAY[workload], fused=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("workload", choices=models.BUILD)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batch", type=int, help="default: the workload's")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--seconds", type=float, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    workload = arguments.workload
    batch = arguments.batch or models.BATCH[workload]
    model = models.BUILD[workload]()
    inputs = [torch.randn(batch, *models.INPUT[workload]) for _ in range(4)]
    labels = [torch.randint(0, models.CLASSES[workload], (batch,)) for _ in range(4)]
    if models.images_of(workload) and arguments.precision == "bf16":
        model = model.to(memory_format=torch.channels_last)
        inputs = [values.to(memory_format=torch.channels_last) for values in inputs]
    optimizer = optimizer_of(workload, model.parameters())
    forward = torch.compile(model) if arguments.compile else model

    def step(index):
        optimizer.zero_grad(set_to_none=True)
        with models.autocast(arguments.precision):
            loss = functional.cross_entropy(forward(inputs[index % 4]), labels[index % 4])
        loss.backward()
        optimizer.step()

    def run_for(seconds):
        samples = []
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(samples) < 3:
            begin = time.perf_counter()
            step(len(samples))
            samples.append(time.perf_counter() - begin)
        return samples

    step(0)  # compiles
    run_for(arguments.seconds / 4)
    samples = run_for(arguments.seconds)
    print(json.dumps({
        "workload": workload,
        "engine": f"PyTorch {torch.__version__}" + (" compiled" if arguments.compile else " eager"),
        "precision": arguments.precision,
        "threads": arguments.threads,
        "batch": batch,
        "steps": len(samples),
        "step_seconds": statistics.median(samples),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }))


if __name__ == "__main__":
    main()
