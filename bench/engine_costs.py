#!/usr/bin/env python3
"""All-reduces over shared memory, gloo and Open MPI, and over Open MPI without ptbench, side by side.

    cmake --build build/release --target ptbench ptbench_gloo ptbench_mpi ptbench_bench_all_reduce
    bench/engine_costs.py --rounds 20 -o results/engine-costs.md

In each round everything is measured once, one after the other, each in processes of its own; ratios are of one round.
Intervals are Student's of the logarithms of the ratios. Needs an idle machine with two cores, and mpirun.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Student's t at 97.5 % by degrees of freedom.
T = {4: 2.776, 9: 2.262, 14: 2.145, 19: 2.093, 29: 2.045, 39: 2.023}


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, timeout=120,
                          env=os.environ | ROOT_MAY).stdout


def by_comm(ptbench, size, calls, communicator, *launcher):
    ranks = [] if launcher else ["-n", "2"]
    row, = json.loads(output(*launcher, ptbench, "comm", *ranks, "--communicator", communicator, "--sizes", size,
                             "--iters", calls, "--json"))
    assert row["wrong"] == 0, row
    return row["seconds"]


def ratio_text(over, under):
    logs = [math.log(a / b) for a, b in zip(over, under)]
    middle = statistics.mean(logs)
    half = T[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(middle):.3f} [{math.exp(middle - half):.3f}, {math.exp(middle + half):.3f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--size", type=int, default=16 << 20, help="bytes")
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=20, choices=[n + 1 for n in T])
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    build = pathlib.Path(arguments.build).resolve()
    ptbench, size, calls = build / "ptbench", arguments.size, arguments.calls
    mpirun = ("mpirun", "-n", "2")
    bare = build / "bench" / "ptbench_bench_all_reduce"
    ways = {
        "shared memory": lambda: by_comm(ptbench, size, calls, "shm"),
        "gloo": lambda: by_comm(ptbench, size, calls, "gloo"),
        "Open MPI": lambda: by_comm(ptbench, size, calls, "mpi", *mpirun),
        "MPI_Allreduce in place, bare": lambda: float(output(*mpirun, bare, size, calls, "in-place")),
        "MPI_Allreduce apart, bare": lambda: float(output(*mpirun, bare, size, calls, "apart"))}
    seconds = {name: [] for name in ways}
    for number in range(arguments.rounds):
        for name, measure in ways.items():
            seconds[name].append(measure())
        print(f"round {number + 1} done", file=sys.stderr)
    version = evidence.version_of(ptbench)
    lines = [f"# All-reduce of {size >> 20} MiB on two ranks: shared memory, gloo, Open MPI, and Open MPI alone", "",
             f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC", f"- {version}",
             f"- command: `bench/engine_costs.py --size {size} --calls {calls} --rounds {arguments.rounds}`",
             f"- {output('mpirun', '--version').splitlines()[0]}; the bare loop is `bench/bare_all_reduce.cpp`: the same "
             "values, meetings and medians without ptbench",
             "- ratios: geometric means over rounds with intervals of 95 %", "",
             "| | median of rounds | over shared memory | over bare, in place | over bare, apart |", "|---|---|---|---|---|"]
    for name, own in seconds.items():
        ratios = [ratio_text(own, seconds[other]) if other != name else "1" for other in
                  ("shared memory", "MPI_Allreduce in place, bare", "MPI_Allreduce apart, bare")]
        lines.append(f"| {name} | {1e3 * statistics.median(own):.3f} ms | " + " | ".join(ratios) + " |")
    text = "\n".join(lines) + "\n"
    evidence.publish(text, arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
