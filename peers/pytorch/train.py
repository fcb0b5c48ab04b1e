#!/usr/bin/env python3
"""Trains one of ptbench's workloads in PyTorch: what `ptbench run --engine pytorch` measures.

    ptbench run --engine pytorch -w mlp -s ddp -n 2
    ptbench run --program 'build/peers/venv/bin/python peers/pytorch/train.py -w resnet18 --compile'
    build/peers/venv/bin/python peers/pytorch/train.py -w resnet18 -s ddp -n 2 --verify --ptbench build/release/ptbench

Model, batches and updates are ptbench's, and so are the weights under --verify; which of PyTorch's settings
are chosen why is in docs/peers.md. Starts its ranks itself where --nproc is more than 1, or is one of those
that torchrun started.
Exit codes are ptbench's: 1 wrong usage, 2 another loss than ptbench's, 5 something is absent.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
if "PTBENCH_STEPS" not in os.environ:  # else ptbench has put its package there
    sys.path.append(str(HERE.parent.parent / "sdk" / "python"))

import allocator  # noqa: E402
import launch  # noqa: E402
import options as option_rows  # noqa: E402


def train(options: argparse.Namespace, place: option_rows.Place) -> int:
    threads = option_rows.take_cores(options, place)
    if options.device == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    require_packages()
    try:
        import torch
    except ImportError as error:
        option_rows.refuse(f"there is no PyTorch ({error}); make an environment with scripts/peers", option_rows.ABSENT)
    # Zero, as ptbench computes; before there are threads, which take it over.
    torch.set_flush_denormal("denormals" not in options.other)
    torch.set_num_threads(threads)
    import models
    import ptbench
    import ptbench.torch
    import training

    device = training.choose_device(options, place)
    if device.type == "cuda":
        torch.backends.cudnn.benchmark = True
        tf32 = options.precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
    if place.world_size > 1:
        meet(options, place, device)
    models.import_libraries(options.workload, options.compile)
    if options.verify_folder:
        import verify
        return leave(place, verify.compare(training.Training(options, place, device), options))
    batch = training.batch_of(options, device)
    # Says hello before there is a model, so that the model's memory counts, and the imports' does not.
    steps = ptbench.steps(samples=batch * options.accumulate, count=options.steps, precision=options.precision,
                          device=str(device))
    replica = training.Training(options, place, device)
    with ptbench.torch.watch(replica.model, replica.optimizer):
        for step in steps:
            step.loss = replica.step(step.number - 1)
    return leave(place, 0)


def require_packages() -> None:
    for name in ("torch", "numpy", "safetensors"):
        if importlib.util.find_spec(name) is None:
            option_rows.refuse(f"this Python has no {name}; make an environment with scripts/peers, or let"
                               " PTBENCH_PYTHON name one that has it", option_rows.ABSENT)


def meet(options: argparse.Namespace, place: option_rows.Place, device) -> None:
    """Of ranks that train.py started by a file; of torchrun's by its variables."""
    from torch import distributed

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # whatever the host's name resolves to
    distributed.init_process_group(
        "nccl" if device.type == "cuda" else "gloo", rank=place.rank, world_size=place.world_size,
        init_method=f"file://{options.store}" if options.store else "env://")


def leave(place: option_rows.Place, code: int) -> int:
    """The code to end with. A rank of several ends here: gloo's threads now and then abort a process that takes its
    group apart."""
    if place.world_size > 1:
        from torch import distributed

        distributed.barrier()
        sys.stdout.flush()
        os._exit(code)
    return code


def main() -> int:
    options = option_rows.parse()
    if options.verify and not options.verify_folder:
        import verify_run

        require_packages()
        return verify_run.run(options, sys.argv[1:])
    if not options.device.startswith("cuda") and "tcmalloc" not in options.other:
        allocator.start_with_tcmalloc()
    place = option_rows.place_of(options)
    if place is None:
        return launch.start_ranks(options.nproc, sys.argv[1:])
    return train(options, place)


if __name__ == "__main__":
    sys.exit(main())
