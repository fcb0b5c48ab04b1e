"""What train.py is told, checked before PyTorch is imported."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass

USAGE, ABSENT = 1, 5  # exit codes, as ptbench's

WORKLOADS = ("linear", "mlp", "resnet18", "resnet50")
STRATEGIES = ("serial", "dp", "ddp", "grad-accum", "amp")
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
# Settings that are tried the other way: bench/pytorch_settings.py.
OTHERS = ("channels_last", "fused", "set_to_none", "denormals", "huge_pages", "tcmalloc", "bucket_view",
          "static_graph")
# Learning rate, momentum, weight decay: PyTorch's, and ptbench's for SGD.
OPTIMIZERS = {"sgd": (0.01, 0.9, 0.0), "adam": (1e-3, 0.0, 0.0), "adamw": (1e-3, 0.0, 0.01)}


@dataclass(frozen=True)
class Place:
    """Which rank of how many this process is; `None`: it is to start them."""

    rank: int
    world_size: int
    local_rank: int


def refuse(text: str, code: int = USAGE) -> None:
    """Ends the program with one line."""
    print(f"train.py: {text}", file=sys.stderr)
    sys.exit(code)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        refuse(message)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """The options, those that depend on others completed."""
    parser = _Parser(description="Trains a ptbench workload in tuned PyTorch, as ptbench measures it.")
    add = parser.add_argument
    add("-w", "--workload", choices=WORKLOADS, default="mlp")
    add("-s", "--strategy", choices=STRATEGIES, default="serial")
    add("-n", "--nproc", type=int, default=1, help="ranks of ddp, devices of dp")
    add("--device", default="cpu", help="cpu, cuda, cuda:N+M or auto: a GPU where there is one")
    add("--threads", type=int, help="of a rank (default: its share of the cores)")
    add("-b", "--batch-size", type=int, help="samples in one rank's micro-batch")
    add("--accumulate", type=int, help="micro-batches in one optimizer step")
    add("--precision", choices=PRECISIONS, help="fp32; of amp bf16")
    add("--loss-scale", default=None, help="none, dynamic or a number; dynamic for fp16")
    add("--optimizer", choices=OPTIMIZERS, help="the workload's")
    add("--lr", type=float)
    add("--momentum", type=float)
    add("--weight-decay", type=float)
    add("--bucket-mb", default="auto", help="DistributedDataParallel's bucket_cap_mb")
    add("--data", default="synthetic", help="synthetic, or a folder of IDX or NPY files")
    add("--samples", type=int, help="of synthetic data in an epoch")
    add("--shuffle", choices=("on", "off"), default="on")
    add("--seed", type=int, default=0)
    add("--initial-weights", metavar="FILE.safetensors")
    add("--compile", action="store_true")
    add("--other", choices=OTHERS, action="append", default=[],
        help="use the opposite of this setting of docs/peers.md; may be given several times")
    add("--steps", type=int, help="number of steps, unless ptbench decides (default: endless)")
    add("--verify", action="store_true", help="compare single steps with ptbench's from equal weights, and end")
    add("--ptbench", default="ptbench", help="the executable, for --verify")
    add("--verify-folder", help=argparse.SUPPRESS)  # ranks compare with what lies there
    add("--store", help=argparse.SUPPRESS)  # the file through which ranks that train.py started meet
    options = parser.parse_args(arguments)
    _complete(options)
    return options


def _complete(options: argparse.Namespace) -> None:
    if options.strategy == "grad-accum" and options.accumulate is None:
        options.accumulate = 4
    options.accumulate = options.accumulate or 1
    options.precision = options.precision or ("bf16" if options.strategy == "amp" else "fp32")
    options.loss_scale = options.loss_scale or ("dynamic" if options.precision == "fp16" else "none")
    named = options.optimizer
    options.optimizer = named or ("adam" if options.workload == "linear" else "sgd")
    lr, momentum, decay = OPTIMIZERS[options.optimizer]
    if named is None and options.workload.startswith("resnet"):
        decay = 5e-4
    options.lr = lr if options.lr is None else options.lr
    options.momentum = momentum if options.momentum is None else options.momentum
    options.weight_decay = decay if options.weight_decay is None else options.weight_decay
    for name in ("nproc", "accumulate", "threads", "batch_size", "samples", "steps"):
        value = getattr(options, name)
        if value is not None and value < 1:
            refuse(f"--{name.replace('_', '-')} {value}: at least 1")
    if options.strategy not in ("ddp", "dp") and options.nproc > 1:
        refuse(f"--strategy {options.strategy} with --nproc {options.nproc}: give --strategy ddp or dp")
    if options.strategy == "dp" and options.device == "cpu":
        refuse("--strategy dp: nn.DataParallel splits batches among GPUs; use ddp, or --device cuda", ABSENT)


def place_of(options: argparse.Namespace) -> Place | None:
    """As torchrun's variables say; alone where --nproc is 1 or of dp; None where ranks are to be started."""
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ and options.strategy == "ddp":
        rank = int(os.environ["RANK"])
        return Place(rank, int(os.environ["WORLD_SIZE"]), int(os.environ.get("LOCAL_RANK", rank)))
    if options.strategy == "ddp" and options.nproc > 1:
        return None
    return Place(0, 1, 0)


def _cores() -> list[int]:
    """That this process may use: one thread of each physical core first, their siblings after."""
    allowed = os.sched_getaffinity(0)

    def place(cpu: int) -> tuple[int, int]:
        try:
            with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list", encoding="ascii") as file:
                words = [word.split("-") for word in file.read().strip().split(",")]
        except OSError:
            return 0, cpu
        siblings = [one for word in words for one in range(int(word[0]), int(word[-1]) + 1)]
        return sum(one < cpu and one in allowed for one in siblings), cpu

    return sorted(allowed, key=place)


def take_cores(options: argparse.Namespace, place: Place) -> int:
    """Gives this rank its share of the cores, and says how many threads it has: before PyTorch starts any."""
    cores = _cores()
    local = int(os.environ.get("LOCAL_WORLD_SIZE", place.world_size))
    threads = options.threads or max(1, len(cores) // local)
    if threads * local <= len(cores):
        os.sched_setaffinity(0, cores[place.local_rank * threads:(place.local_rank + 1) * threads])
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["OMP_PROC_BIND"] = "close"
    if "huge_pages" not in options.other:
        os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    return threads
