#!/usr/bin/env python3
"""Verifies every strategy over GPUs in every combination of ranks, precision, accumulation and graph.

    bench/verified_gpu_strategies.py -o bench/results/gpu/verified-strategies.md
    scripts/emulate-gpu --devices 4 bench/verified_gpu_strategies.py --ptbench build/ci/ptbench

Each combination is a `ptbench run --verify only --device cuda`. Exit code 1 if any of them is not verified. Only
Python's standard library is used.
"""
import argparse
import collections
import datetime
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRECISIONS = ("fp32", "tf32", "bf16", "fp16")
Case = collections.namedtuple("Case", "strategy ranks precision accumulation graph")


def cases(strategies, ranks):
    for strategy, count, precision, accumulation, graph in itertools.product(
            strategies, ranks, PRECISIONS, (1, 2), ("on", "off")):
        # Replicas of one process are given their work by the host, step by step: there is no graph of it.
        if strategy == "dp" and graph == "on":
            continue
        yield Case(strategy, count, precision, accumulation, graph)


def verify(ptbench, workload, case, folder):
    """The status, and what was said where it is not "passed"."""
    path = pathlib.Path(folder) / "r.json"
    path.unlink(missing_ok=True)
    done = subprocess.run(
        [ptbench, "run", "-w", workload, "-b", "4", "--device", "cuda", "--verify", "only", "-s", case.strategy,
         "-n", str(case.ranks), "--precision", case.precision, "--accumulate", str(case.accumulation),
         "--graph", case.graph, "-o", path],
        cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0 or not path.exists():
        return "failed", (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()[-1]
    run = json.loads(path.read_text())["runs"][0]
    return run["verification"]["status"], run["reason"] or ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default=str(ROOT / "build/release/ptbench"))
    parser.add_argument("--workload", default="linear")
    parser.add_argument("--strategies", default="ddp,ddp-flat,ddp-central,dp")
    parser.add_argument("--ranks", default="2,4", help="numbers of ranks or replicas, each with a GPU of its own")
    parser.add_argument("-o", "--output", help="Markdown file; by default standard output")
    arguments = parser.parse_args()
    ptbench = str(pathlib.Path(arguments.ptbench).resolve())
    strategies = arguments.strategies.split(",")
    ranks = [int(count) for count in arguments.ranks.split(",")]
    rows, failures = [], []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(strategies, ranks):
            status, said = verify(ptbench, arguments.workload, case, folder)
            rows.append((case, status))
            if status != "passed":
                failures.append(f"- `{' '.join(map(str, case))}`: {status}: {said}")
            print(*case, status, file=sys.stderr, flush=True)
    emulated = "PTBENCH_EMULATOR_DEVICES" in os.environ
    lines = [
        "# Strategies over GPUs, verified in every combination", "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- {evidence.version_of(ptbench)}",
        f"- devices: {'emulated ones, of scripts/emulate-gpu' if emulated else 'GPUs'}",
        f"- command: `bench/verified_gpu_strategies.py {shlex.join(sys.argv[1:])}`".replace(str(ROOT) + "/", ""), "",
        f"{sum(status == 'passed' for _, status in rows)} of {len(rows)} runs of `{arguments.workload}` were verified.", "",
        "| strategy | ranks | graph | " + " | ".join(
            f"{precision}, {count} micro-batch{'es' if count > 1 else ''}"
            for precision in PRECISIONS for count in (1, 2)) + " |",
        "|---" * 11 + "|"]
    by_case = dict(rows)
    for strategy, count, graph in itertools.product(strategies, ranks, ("on", "off")):
        words = [by_case.get(Case(strategy, count, precision, accumulation, graph))
                 for precision in PRECISIONS for accumulation in (1, 2)]
        if any(words):
            lines.append(f"| {strategy} | {count} | {graph} | " + " | ".join(words) + " |")
    text = "\n".join(lines + ["", *failures]).rstrip() + "\n"
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text)
    else:
        print(text, end="")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
