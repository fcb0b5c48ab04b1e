#!/usr/bin/env python3
"""Measures ptbench's training and PyTorch's, cell by cell, interleaved, all by ptbench's own rules.

    scripts/peers                                           # once: PyTorch's environment
    bench/native_and_pytorch.py --rounds 8 --json results/native-and-pytorch.json -o results/native-and-pytorch.md
    bench/native_and_pytorch.py --quick --only mlp-fp32-serial

A cell is a workload, a precision, and serial or ddp on 2 ranks. A round runs in each cell, in turn and each in
fresh processes: ptbench; PyTorch eager; PyTorch compiled. All three are measured by `ptbench run
--engine` (docs/peers.md), with the same threads, batches and slices. Before the first
round, `train.py --verify` compares losses of single steps from equal weights in every cell: a cell that does
not agree has no ratio. Ratios are of rounds in which both were clean and placed alike, near or far, with the
95 % interval of their geometric mean; beside the better one of eager and compiled. Rounds are appended to
--json, so that a measurement can go on. Builds that are dirty, or of several commits, are refused, unless
--quick. Only Python's standard library is used.
"""
import argparse
import datetime
import itertools
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRAIN = ROOT / "peers" / "pytorch" / "train.py"
# As the report calls them, and as --engine does.
ENGINES = {"ptbench": "native", "eager": "pytorch", "compiled": "pytorch-compiled"}
RANKS = 2
# Samples of all ranks together, as a rank of the serial cells has them.
BATCH = {"linear": 32, "mlp": 128, "resnet18": 64, "resnet50": 8}
CELLS = {f"{workload}-{precision}-{strategy}": (workload, precision, strategy)
         for workload, precision, strategy in itertools.product(BATCH, ("fp32", "bf16"), ("serial", "ddp"))}


def options_of(cell, threads):
    """What both sides are told."""
    workload, precision, strategy = CELLS[cell]
    ranks = RANKS if strategy == "ddp" else 1
    return ["--workload", workload, "--precision", precision, "--strategy", strategy, "--nproc", str(ranks),
            "--threads", str(max(1, threads // ranks)), "--batch-size", str(BATCH[workload] // ranks),
            "--device", "cpu"]


def command_of(cell, engine, arguments):
    """The measurement of one process run."""
    return [arguments.ptbench, "run", "--engine", ENGINES[engine], *options_of(cell, arguments.threads),
            "--verify", "off", "--repeats", "1", "--max-time", str(arguments.max_time), "--json", "--timeout", "600"]


def run(command, arguments):
    """Standard output; ends the script where the command fails."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PTBENCH_PYTHON": arguments.python}
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, env=environment)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return done.stdout


def result_of(record):
    """What is kept of a measurement."""
    one = record["runs"][0]
    (repetition,) = one["samples"]["repetitions"]
    memory = one.get("memory") or {}
    before, peak = memory.get("before_bytes"), memory.get("peak_bytes")
    compute = one.get("compute") or {}
    return {"seconds": one["step_seconds"]["median"], "placement": repetition["placement"],
            "clean": bool(repetition["clean_slices"]),
            "memory": None if before is None or peak is None else peak - before,
            "utilization": compute.get("utilization"), "engine": one["engine"]["name"],
            "generator": record["generator"], "cpu": record["environment"]["cpu"]}


def verify(cell, arguments):
    """Whether losses of single steps from equal weights agree, and by how much."""
    command = [arguments.python, str(TRAIN), *options_of(cell, arguments.threads), "--verify", "--ptbench",
               arguments.ptbench]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600,
                          env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
    if done.returncode not in (0, 2) or not done.stdout:
        sys.exit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(file, cells, arguments):
    """Adds rounds to what the file holds, and writes it after each."""
    for cell in cells:
        if cell not in file["verification"]:
            file["verification"][cell] = verify(cell, arguments)
            print(f"{cell}: {file['verification'][cell]['verification']}", file=sys.stderr)
    for number in range(arguments.rounds):
        for cell in cells:
            row = {"cell": cell}
            for engine in ENGINES:
                row[engine] = result_of(json.loads(run(command_of(cell, engine, arguments), arguments)))
            file["rounds"].append(row)
            write(file, arguments.json)
        print(f"round {number + 1} of {arguments.rounds} done", file=sys.stderr)


def write(file, path):
    if path:
        new = pathlib.Path(f"{path}.new")
        new.write_text(json.dumps(file, indent=1) + "\n", encoding="utf-8")
        new.replace(path)


def alike(rows, engine):
    """Of the rows in which ptbench and this engine were clean and placed alike: by placement, their ratios."""
    found = {}
    for row in rows:
        own, peer = row["ptbench"], row[engine]
        if own["clean"] and peer["clean"] and own["placement"] == peer["placement"]:
            found.setdefault(own["placement"], []).append(peer["seconds"] / own["seconds"])
    return found


def better(rows):
    """The engine of PyTorch whose median is the smaller one."""
    return min(("eager", "compiled"), key=lambda engine: statistics.median(row[engine]["seconds"] for row in rows))


def ratio_text(ratios):
    found = evidence.ratio(ratios)
    if found.low is None:
        return f"no interval ({found.count} rounds)"
    return f"{found.middle:.2f} [{found.low:.2f}, {found.high:.2f}] ({found.count} rounds)"


def time_text(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.2f} µs"


def memory_text(rows, engine):
    values = [row[engine]["memory"] for row in rows if row[engine]["memory"] is not None]
    return f"{max(values) / 2**20:.0f} MiB" if values else "unknown"


def lines_of(cell, rows, verification):
    """Rows of the table: one for each placement that was seen."""
    if verification["verification"] != "passed":
        return [f"| `{cell}` | losses disagree: {verification['max_relative_error']:.2g} | | | | | |"]
    best = better(rows)
    medians = {engine: statistics.median(row[engine]["seconds"] for row in rows) for engine in ENGINES}
    by_placement = {engine: alike(rows, engine) for engine in ("eager", "compiled")}
    placements = sorted(set(by_placement["eager"]) | set(by_placement["compiled"])) or ["no clean round"]
    return ["| " + " | ".join([
        f"`{cell}`", place, ", ".join(time_text(medians[engine]) for engine in ENGINES),
        *(ratio_text(by_placement[engine][place]) if place in by_placement[engine] else "unseen"
          for engine in ("eager", "compiled")),
        best, ", ".join(memory_text(rows, engine) for engine in ENGINES)]) + " |" for place in placements]


def report(file, quick):
    rounds = file["rounds"]
    generators = [row[engine]["generator"] for row in rounds for engine in ENGINES]
    if not quick:
        evidence.require_origin_or_exit(generators)
    cpu = rounds[0]["ptbench"]["cpu"]
    lines = [
        "# ptbench and PyTorch, step by step",
        "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {cpu['model']}, {cpu['cores']} cores",
        f"- ptbench {generators[0]['version']}, commit {generators[0]['git_commit']}, {generators[0]['build_type']}; "
        f"PyTorch {file['pytorch']}",
        f"- command: `{shlex.join(sys.argv)}`",
        *(["- a first look: nothing of it is to be published"] if quick else []),
        "- ratios are PyTorch's time over ptbench's, geometric means over rounds in which both were clean and "
        "placed alike, [95 % interval]",
        "- memory: on top of what imports and start-up take, largest of all rounds",
        "",
        "| cell | placement | ptbench, eager, compiled | eager | compiled | better | memory |",
        "|---|---|---|---|---|---|---|",
    ]
    for cell in dict.fromkeys(row["cell"] for row in rounds):
        lines += lines_of(cell, [row for row in rounds if row["cell"] == cell], file["verification"][cell])
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ptbench", default=str(ROOT / "build" / "release" / "ptbench"))
    parser.add_argument("--python", default=str(ROOT / "build" / "peers" / "venv" / "bin" / "python"))
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of all ranks together")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--max-time", type=float, default=10)
    parser.add_argument("--only", action="append", choices=CELLS, metavar="CELL",
                        help=f"repeatable, of {', '.join(CELLS)}")
    parser.add_argument("--quick", action="store_true", help="2 rounds, of any build: to see that it works")
    parser.add_argument("--json", metavar="FILE", help="all rounds; those that it holds are gone on with")
    parser.add_argument("-o", "--output", metavar="FILE.md")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rounds = min(arguments.rounds, 2)
        arguments.max_time = min(arguments.max_time, 4)
    path = arguments.json and pathlib.Path(arguments.json)
    version = run([arguments.python, "-c", "import torch; print(torch.__version__)"], arguments).strip()
    build = run([arguments.ptbench, "--version"], arguments).splitlines()[0]
    file = {"pytorch": version, "build": build, "verification": {}, "rounds": []}
    if path and path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if (kept.get("pytorch"), kept.get("build")) != (version, build):
            sys.exit(f"{path} was measured with {kept.get('pytorch')} and {kept.get('build')}: choose another --json")
        file = kept
    measure(file, arguments.only or list(CELLS), arguments)
    text = report(file, arguments.quick)
    print(text)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
