"""Times one step of PyTorch's DistributedDataParallel on gloo, tuned, for side-by-side measurement.

    python ddp_time.py WORKLOAD [--precision fp32|bf16] [--ranks N] [--batch B]
                       [--modes eager,compiled] [--bucket-mb 1,4,25] [--seconds S]

Starts N ranks of one thread, each pinned to a core of its own and with B samples a step. Every mode
tries each bucket size for S / 4 seconds and measures the best for S. The rest is as in step_time.py,
and the reducer is at its best too: gradients are views of the buckets, the graph is static. A step
takes as long as on its slowest rank. Prints one JSON line: `modes` has for each mode the median over
the half seconds that were clean on all ranks, and `step_seconds` is the smallest of them.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from torch import distributed, nn
from torch.nn import functional

import clean_slices
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch"))

import models  # noqa: E402
import step_time


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("workload", choices=models.BUILD)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--batch", type=int, help="of a rank; default: its share of the workload's")
    parser.add_argument("--modes", default="eager,compiled")
    parser.add_argument("--bucket-mb", default="1,4,25", help="sizes to choose from, in MiB")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)  # of a rank, not of the parent
    parser.add_argument("--store", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.modes = arguments.modes.split(",")
    if not set(arguments.modes) <= {"eager", "compiled"}:
        parser.error("--modes takes eager, compiled or both")
    arguments.bucket_mb = [float(text) for text in arguments.bucket_mb.split(",")]
    return arguments


def start_ranks(arguments):
    """Runs this script once a rank and passes on what rank 0 prints; the exit status."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < arguments.ranks:
        sys.exit(f"{arguments.ranks} ranks need as many cores; there are {len(cores)}")
    # gloo is to use the loopback interface, whatever the host's name resolves to.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *sys.argv, "--store", os.path.join(folder, "store"), "--rank"]
        return wait_for([
            subprocess.Popen([*command, str(rank)], env=environment,
                             preexec_fn=lambda core=core: os.sched_setaffinity(0, {core}))
            for rank, core in enumerate(cores[:arguments.ranks])])


def wait_for(ranks):
    """Exit status of all; ends the others where one has failed, as they would wait for it."""
    try:
        while any(rank.poll() is None for rank in ranks):
            if any(rank.poll() for rank in ranks):
                break
            time.sleep(0.05)
    finally:
        for rank in ranks:
            rank.terminate()
            rank.wait()
    return int(any(rank.returncode for rank in ranks))


def batch_of(arguments):
    return arguments.batch or models.BATCH[arguments.workload] // arguments.ranks


class Trainer:
    """One replica under DistributedDataParallel, with batches that are already in memory."""

    def __init__(self, arguments, compiled, bucket_mb):
        workload = arguments.workload
        self.precision = arguments.precision
        batch = batch_of(arguments)
        torch.manual_seed(distributed.get_rank())
        model = models.BUILD[workload]()
        self.inputs = [torch.randn(batch, *models.INPUT[workload]) for _ in range(4)]
        self.labels = [torch.randint(0, models.CLASSES[workload], (batch,)) for _ in range(4)]
        if models.images_of(workload) and self.precision == "bf16":
            model = model.to(memory_format=torch.channels_last)
            self.inputs = [values.to(memory_format=torch.channels_last) for values in self.inputs]
        self.optimizer = step_time.optimizer_of(workload, model.parameters())
        # Compiling inside of the wrapper keeps the graph whole.
        self.model = nn.parallel.DistributedDataParallel(
            torch.compile(model) if compiled else model, bucket_cap_mb=bucket_mb,
            gradient_as_bucket_view=True, static_graph=True)

    def step(self, index):
        self.optimizer.zero_grad(set_to_none=True)
        with models.autocast(self.precision):
            loss = functional.cross_entropy(self.model(self.inputs[index % 4]),
                                            self.labels[index % 4])
        loss.backward()
        self.optimizer.step()

    def timed(self, count):
        samples = []
        for index in range(count):
            begin = time.perf_counter()
            self.step(index)
            samples.append(time.perf_counter() - begin)
        return samples

    def settle(self):
        """Compiles, and lets the reducer lay out its buckets."""
        self.estimate = slowest([min(self.timed(3))])[0]

    def run_for(self, seconds):
        """(Clean on all ranks, durations of its steps on the slowest) of each half second, for
        about so many seconds."""
        slices = []
        left = seconds
        watch = clean_slices.CoreWatch()
        while left > 0 or not slices:
            count = max(3, round(min(left, clean_slices.SLICE_SECONDS) / self.estimate))
            watch.begin()
            own = self.timed(count)
            *samples, unclean = slowest([*own, 0.0 if watch.was_clean() else 1.0])
            slices.append((unclean == 0, samples))
            self.estimate = statistics.median(samples)
            left -= sum(samples)
        return slices


def slowest(seconds):
    """Element by element the largest of all ranks, so that all then make as many steps."""
    values = torch.tensor(seconds, dtype=torch.float64)
    distributed.all_reduce(values, distributed.ReduceOp.MAX)
    return values.tolist()


def ready_trainer(arguments, mode, bucket_mb):
    trainer = Trainer(arguments, mode == "compiled", bucket_mb)
    trainer.settle()
    return trainer


def measure_mode(arguments, mode):
    tried = {}
    if len(arguments.bucket_mb) > 1:
        for bucket in arguments.bucket_mb:
            trainer = ready_trainer(arguments, mode, bucket)
            tried[bucket] = clean_slices.summary(
                trainer.run_for(arguments.seconds / 4))["step_seconds"]
    best = min(tried, key=tried.get, default=arguments.bucket_mb[0])
    trainer = ready_trainer(arguments, mode, best)
    trainer.run_for(arguments.seconds / 4)
    return {**clean_slices.summary(trainer.run_for(arguments.seconds)), "bucket_mb": best,
            "tried": {f"{bucket:g}": seconds for bucket, seconds in tried.items()}}


def run_rank(arguments):
    torch.set_flush_denormal(True)  # as ptbench computes
    torch.set_num_threads(1)
    models.import_libraries(arguments.workload, "compiled" in arguments.modes)
    distributed.init_process_group("gloo", init_method=f"file://{arguments.store}",
                                   rank=arguments.rank, world_size=arguments.ranks)
    memory = clean_slices.Memory()
    modes = {mode: measure_mode(arguments, mode) for mode in arguments.modes}
    increase = torch.tensor([memory.increase()])
    distributed.all_reduce(increase)
    if arguments.rank == 0:
        best = min(modes, key=lambda mode: modes[mode]["step_seconds"])
        print(json.dumps({
            "workload": arguments.workload,
            "engine": f"PyTorch {torch.__version__} DistributedDataParallel on gloo",
            "precision": arguments.precision,
            "ranks": arguments.ranks,
            "batch": batch_of(arguments),
            "mode": best,
            "modes": modes,
            "step_seconds": modes[best]["step_seconds"],
            "memory_increase_bytes": int(increase),
        }), flush=True)
    distributed.barrier()
    sys.stdout.flush()
    os._exit(0)  # gloo's threads now and then abort a process that takes its group apart


def main():
    arguments = parse_arguments()
    if arguments.rank is None:
        sys.exit(start_ranks(arguments))
    run_rank(arguments)


if __name__ == "__main__":
    main()
