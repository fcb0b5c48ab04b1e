"""Times one training step of a ptbench workload in PyTorch, tuned, for side-by-side measurement.

    python step_time.py WORKLOAD [--precision fp32|bf16] [--threads N] [--batch B] [--compile]
                        [--seconds S]

Fused optimizer, pinned OpenMP threads (set OMP_PROC_BIND=close), inputs that are already in memory,
denormal numbers as zero, as ptbench has them, channels_last for images in bf16 (it wins there and
loses in fp32). Prints one JSON line: `step_seconds` is the median over the clean half seconds of S,
or of up to 4·S until two are clean, and `memory_increase_bytes` by how much the largest resident size
is above what Python and PyTorch take by themselves.
"""
import argparse
import json
import os
import sys
import time

import torch
from torch.nn import functional

import clean_slices
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch"))

import models  # noqa: E402

SETTLED_SLICES = 2  # clean ones, as a repetition of ptbench has


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

    torch.set_flush_denormal(True)  # before there are threads, which take it over
    torch.set_num_threads(arguments.threads)
    models.import_libraries(arguments.workload, arguments.compile)
    memory = clean_slices.Memory()
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
        while time.perf_counter() < end or not samples:
            begin = time.perf_counter()
            step(len(samples))
            samples.append(time.perf_counter() - begin)
        return samples

    def measured_slices():
        slices = []
        watch = clean_slices.CoreWatch()
        end = time.perf_counter() + arguments.seconds
        last = end + 3 * arguments.seconds
        while (time.perf_counter() < end
               or (sum(clean for clean, _ in slices) < SETTLED_SLICES
                   and time.perf_counter() < last)):
            watch.begin()
            steps = run_for(clean_slices.SLICE_SECONDS)
            slices.append((watch.was_clean(), steps))
        return slices

    step(0)  # compiles
    run_for(arguments.seconds / 4)
    slices = measured_slices()
    print(json.dumps({
        "workload": workload,
        "engine": f"PyTorch {torch.__version__}" + (" compiled" if arguments.compile else " eager"),
        "precision": arguments.precision,
        "threads": arguments.threads,
        "batch": batch,
        **clean_slices.summary(slices),
        "memory_increase_bytes": memory.increase(),
    }))


if __name__ == "__main__":
    main()
