#!/usr/bin/env python3
"""Measures ptbench's training beside PyTorch's, cell by cell, by sweeps whose engines take turns.

    scripts/peers                                           # once: PyTorch's environment
    bench/native_and_pytorch.py --json bench/results/native-and-pytorch.json -o bench/results/native-and-pytorch.md
    bench/native_and_pytorch.py --quick --only mlp-fp32-serial

A cell is a workload, a precision, and serial or ddp on 2 ranks. `ptbench sweep --engine
native,pytorch,pytorch-compiled` measures it: after losses of single steps from equal weights were compared (an engine
that does not agree has no ratio), fresh processes in each round, which take turns of a few steps with each other, with
the same threads and batches; the ratios and their intervals are the sweep's own (docs/peers.md).
--json keeps what was measured of each cell and is gone on with; cells that it has are left alone. Builds that are
dirty, or of several commits, are refused, unless --quick, and so is a PyTorch without its allocator. Only Python's
standard library is used.
"""
import argparse
import itertools
import json
import math
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "peers" / "pytorch"))

import allocator  # noqa: E402

ENGINES = ("native", "pytorch", "pytorch-compiled")
RANKS = 2
# Samples of all ranks together, as a rank of the serial cells has them.
BATCH = {"linear": 32, "mlp": 128, "resnet18": 64, "resnet50": 8}
CELLS = {f"{workload}-{precision}-{strategy}": (workload, precision, strategy)
         for precision, workload, strategy in itertools.product(("fp32", "bf16"), BATCH, ("serial", "ddp"))}


def options_of(cell, threads):
    """What every engine is told."""
    workload, precision, strategy = CELLS[cell]
    ranks = RANKS if strategy == "ddp" else 1
    return ["--workload", workload, "--precision", precision, "--strategy", strategy, "--nproc", str(ranks),
            "--threads", str(max(1, threads // ranks)), "--batch-size", str(BATCH[workload] // ranks),
            "--device", "cpu"]


def sweep_of(cell, arguments):
    """The command that measures the cell."""
    return [arguments.ptbench, "sweep", "--engine", ",".join(ENGINES), *options_of(cell, arguments.threads),
            "--scaling", "off", "--rounds", str(arguments.rounds),
            "--max-time", str(arguments.max_time), "--timeout", "600"]


def build_of(arguments):
    """The generator of records: whose build measures."""
    said = evidence.version_of(ROOT / arguments.ptbench)
    version, commit, build_type = re.search(r"ptbench (\S+) \(commit (\S+), (\w+)\)", said).groups()
    return {"version": version, "git_commit": commit, "build_type": build_type}


def run(command, arguments, codes=(0,)):
    """The process when it has ended; ends the script where it ended with another code."""
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "PTBENCH_PYTHON": arguments.python}
    done = subprocess.run(command, capture_output=True, text=True, timeout=7200, env=environment, cwd=ROOT)
    if done.returncode not in codes:
        sys.exit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return done


def engine_of(record):
    """As --engine calls it."""
    return next((engine for engine in reversed(ENGINES) if record["id"].endswith(f"/engine={engine}")), "native")


def kept(record):
    """What is kept of a run: all but its single steps, and paths of this machine."""
    repetitions = [{key: one.get(key) for key in ("median_seconds", "placement", "clean_slices", "lockstep")}
                   for one in record["samples"]["repetitions"]]
    return {key: record[key] for key in ("id", "status", "reason", "step_seconds", "throughput", "compute",
                                         "verification", "versus")} | {
        "memory": record["memory"] | {"data_bytes": data_bytes(record)},
        "engine": engine_of(record), "version": record["engine"]["version"], "repetitions": repetitions,
        "warnings": [one["code"] for one in record["warnings"]]}


def data_bytes(record):
    """Of the samples in fp32 that each of ptbench's ranks has before `before_bytes` is taken; PyTorch's come later."""
    if engine_of(record) != "native" or record["status"] != "ok":
        return 0
    values = record["data"]["samples"] * math.prod(record["workload"]["input_shape"])
    return 4 * values * record["strategy"]["world_size"]


def preloaded():
    """What the caller has the engines load, as it stands before the command, without folders of this machine."""
    names = [pathlib.PurePath(path).name for path in re.split("[ :]", os.environ.get("LD_PRELOAD", "")) if path]
    return [f"LD_PRELOAD={':'.join(names)}"] if names else []


def measured(cell, arguments):
    """What the sweep of the cell says."""
    with tempfile.TemporaryDirectory(prefix="native-and-pytorch-") as folder:
        path = pathlib.Path(folder) / "result.json"
        command = sweep_of(cell, arguments)
        run([*command, "-o", str(path)], arguments, codes=(0, 2))  # 2: an engine failed
        result = json.loads(path.read_text(encoding="utf-8"))
    return {"command": shlex.join([*preloaded(), *command]), "created": result["created"], "generator": result["generator"],
            "cpu": result["environment"]["cpu"], "os": result["environment"]["host"]["os"], "runs": [kept(record) for record in result["runs"]]}


def has_cell(cell, arguments):
    """Whether this machine can train so: of another one the file may hold it."""
    probe = [arguments.ptbench, "run", *options_of(cell, arguments.threads)[:4], "--steps", "1", "--verify", "off"]
    return run(probe, arguments, codes=(0, 5)).returncode == 0


def measure(file, cells, arguments):
    """Adds the cells that the file lacks, and writes it after each."""
    for cell in cells:
        if cell in file["cells"]:
            continue
        if not has_cell(cell, arguments):
            print(f"{cell}: this processor lacks the type", file=sys.stderr)
            continue
        file["cells"][cell] = found = measured(cell, arguments)
        print(f"{cell}: {', '.join(verified_text(record) for record in found['runs'])}", file=sys.stderr)
        if arguments.json:
            new = pathlib.Path(f"{arguments.json}.new")
            new.write_text(json.dumps(file, indent=1) + "\n", encoding="utf-8")
            new.replace(arguments.json)


def verified_text(record):
    """"pytorch passed 2e-07"."""
    verification = record["verification"]
    error = verification["max_relative_error"]
    return f"{record['engine']} {verification['status']}{'' if error is None else f' {error:.1g}'}"


def plain(value, digits):
    """With so many significant digits, but never as a power of ten."""
    return f"{value:.0f}" if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def step_text(record):
    """"10.7 ± 0.3 ms", the median and its 95 % interval; empty without one."""
    seconds = record["step_seconds"]
    if not seconds["ci95"]:
        return "no interval"
    unit, factor = ("ms", 1e3) if seconds["median"] >= 1e-3 else ("µs", 1e6)
    low, high = (factor * end for end in seconds["ci95"])
    return evidence.with_interval(factor * seconds["median"], low, high, lambda number: plain(number, 3),
                                  lambda half: plain(half, 2)) + f" {unit}"


def share_text(record, field):
    """Of the peak, with the relative interval of the throughput."""
    share, throughput = record["compute"][field], record["throughput"]
    if share is None or not throughput["ci95"]:
        return ""
    low, high = (100 * share * end / throughput["value"] for end in throughput["ci95"])
    return evidence.with_interval(100 * share, low, high, lambda number: f"{number:.0f}",
                                  lambda half: plain(half, 1)) + " %"


def clean_rounds(own, peer):
    """In how many rounds that they took turns in nothing disturbed either."""
    clean = [{one["lockstep"] for one in record["repetitions"] if one["lockstep"] and one["clean_slices"]}
             for record in (own, peer)]
    return len(clean[0] & clean[1])


def ratio_text(record):
    """"1.49 [1.44, 1.54]", empty where nothing is known, or the two took no turns."""
    versus = record["versus"]
    if not versus or not versus["step_time_ratio_ci95"] or not versus["pairs_in_turns"]:
        return ""
    low, high = versus["step_time_ratio_ci95"]
    return f"{versus['step_time_ratio']:.2f} [{low:.2f}, {high:.2f}]"


def memory_of(record):
    """On top of what start-up and imports take, the samples included; None: not known."""
    memory = record["memory"]
    if memory["peak_bytes"] is None or memory.get("before_bytes") is None:
        return None
    return memory["peak_bytes"] - memory["before_bytes"] + memory["data_bytes"]


def memory_text(own, peer):
    if not own or not peer:
        return ""
    return f"{own / 2**20:.0f} of {peer / 2**20:.0f} MiB, {own / peer:.2f}"


def row_of(cell, found):
    """Of the table of cells."""
    workload, precision, strategy = CELLS[cell]
    name = [f"`{workload}`", precision, "serial" if strategy == "serial" else f"`ddp`, {RANKS} ranks"]
    runs = {record["engine"]: record for record in found["runs"]}
    own, peers = runs["native"], [runs[engine] for engine in ENGINES[1:]]
    compared = [peer for peer in peers if ratio_text(peer)]
    if not compared:
        reason = next((f"{record['engine']}: {record['reason']}" for record in found["runs"] if record["reason"]),
                      "no interval")
        return [*name, reason.replace("|", "/"), *[""] * (len(HEADINGS) - 4)]
    best = min(compared, key=lambda peer: peer["versus"]["step_time_ratio"])
    disturbed = sorted({code for record in (own, best) for code in record["warnings"]})
    return [*name, step_text(own), *(ratio_text(peer) for peer in peers),
            "eager" if best is peers[0] else "compiled", share_text(own, "utilization"),
            share_text(own, "effective_utilization"), memory_text(memory_of(own), memory_of(best)),
            f"{best['versus']['pairs_in_turns']}, {clean_rounds(own, best)} of them clean", ", ".join(disturbed)]


HEADINGS = ["workload", "precision", "strategy", "ptbench's median step", "PyTorch eager over it, mean steps",
            "compiled over it", "the better", "ptbench of the peak, executed", "effective",
            "memory, of the better's", "rounds of one placement", "warnings"]


def rows(file):
    return [row_of(cell, file["cells"][cell]) for cell in CELLS if cell in file["cells"]]


def origin_of(file):
    """What the figures rest on, in a line: refused where builds were several or dirty."""
    cells = list(file["cells"].values())
    commit = evidence.require_origin([cell["generator"] for cell in cells])
    machines = sorted({f"{cell['cpu']['model']}, {cell['cpu']['cores']} cores, {cell['os']}" for cell in cells})
    days = sorted({cell["created"][:10] for cell in cells})
    return f"{' and '.join(machines)}; commit {commit}, {'–'.join(dict.fromkeys((days[0], days[-1])))}; " \
           f"PyTorch {file['pytorch']}"


def report(file, quick):
    try:
        origin = origin_of(file)
    except evidence.Unpublishable as reason:
        if not quick:
            sys.exit(f"nothing is published of {reason}")
        origin = "a first look: nothing of it is to be published"
    lines = ["# ptbench and PyTorch, step by step", "", f"- {origin}",
             "- ratios are PyTorch's mean step over ptbench's, of rounds in which they took turns, either near or far, "
             "[95 % interval]",
             "- memory: on top of what imports and start-up take",
             *(f"- `{cell['command']}`" for cell in file["cells"].values()), "",
             f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|",
             *(f"| {' | '.join(row)} |" for row in rows(file))]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--ptbench", default="build/release/ptbench", help="below the project's folder")
    parser.add_argument("--python", default="build/peers/venv/bin/python", help="the same")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of all ranks together")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--max-time", type=float, default=60, help="seconds of steps of each engine, of all rounds")
    parser.add_argument("--only", action="append", choices=CELLS, metavar="CELL",
                        help=f"repeatable, of {', '.join(CELLS)}")
    parser.add_argument("--quick", action="store_true", help="3 short rounds, of any build: to see that it works")
    parser.add_argument("--json", metavar="FILE", help="what was measured; cells that it has are left alone")
    parser.add_argument("-o", "--output", metavar="FILE.md")
    arguments = parser.parse_args()
    # subprocess.run ends what it started when this script is left by an exception.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if arguments.quick:
        arguments.rounds, arguments.max_time = min(arguments.rounds, 3), min(arguments.max_time, 6)
    path = arguments.json and pathlib.Path(arguments.json)
    if not arguments.quick and not allocator.is_there():
        sys.exit("there is no tcmalloc, without which PyTorch is slower: scripts/peers installs it")
    if arguments.quick and path:
        parser.error("--quick measures nothing that is kept: leave --json out")
    version = run([arguments.python, "-c", "import torch; print(torch.__version__)"], arguments).stdout.strip()
    file = {"pytorch": version, "cells": {}}
    if path and path.exists():
        file = json.loads(path.read_text(encoding="utf-8"))
        if file["pytorch"] != version:
            sys.exit(f"{path} was measured with PyTorch {file['pytorch']}, not {version}: choose another --json")
    if not arguments.quick:  # rather than after hours
        evidence.require_origin_or_exit([build_of(arguments), *(cell["generator"] for cell in file["cells"].values())])
    measure(file, arguments.only or list(CELLS), arguments)
    text = report(file, arguments.quick)
    print(text)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
