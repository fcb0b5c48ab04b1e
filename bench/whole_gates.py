#!/usr/bin/env python3
"""Runs `ptbench gate` again and again, and counts its verdicts and seconds.

    bench/whole_gates.py --ptbench build/release/ptbench --gates 20 -o results/gates.md \\
        "mlp, 2 threads: 1 %=0.01 -w mlp --threads 2 --detect 1%" "A/A=0 -w mlp --threads 2 --detect 1%"

Each case is NAME=SLOWDOWN and the gate's options; the cases take turns. BASE and NEW are the same
build; NEW runs with `--slowdown`, where that is not 0. Every gate counts, however it ended; each has
a cache and a folder of its own, so that no gate teaches another. Shares have exact 95 % intervals
(Clopper and Pearson, 1934); seconds are those of the whole command. Only Python's standard library
is used.
"""
import argparse
import collections
import datetime
import os
import pathlib
import platform
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

from gates import VERDICTS, share

def case_of(text):
    name, _, rest = text.rpartition("=")
    slowdown, *options = shlex.split(rest)
    return name, float(slowdown), options


def slower_build(ptbench, slowdown, folder):
    if not slowdown:
        return ptbench
    wrapper = folder / "ptbench"
    wrapper.write_text(f"#!/bin/sh\nexec {shlex.quote(str(ptbench))} \"$@\" --slowdown={slowdown}\n")
    wrapper.chmod(0o755)
    return wrapper


def gate(ptbench, slowdown, options):
    """The verdict, the number of pairs, the change as printed, and the seconds."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        command = [ptbench, "gate", "--base", ptbench, "--new",
                   slower_build(ptbench, slowdown, folder), *options]
        begin = time.monotonic()
        result = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder,
                                env=os.environ | {"XDG_CACHE_HOME": place, "COLUMNS": "200"})
        seconds = time.monotonic() - begin
    words = result.stdout.split()
    if not words or words[0] not in VERDICTS:
        sys.exit(f"{shlex.join(map(str, command))} ended with {result.returncode}:\n{result.stderr}")
    pairs = re.search(r"n (\d+) pairs", result.stdout)
    change = re.search(r"([+-]?[\d.]+) % \(([+-]?[\d.]+) % to ([+-]?[\d.]+) %\)", result.stdout)
    return words[0], int(pairs[1]) if pairs else None, change[0] if change else "", seconds


def row(name, gates):
    counts = collections.Counter(verdict for verdict, *_ in gates)
    pairs = [number for _, number, *_ in gates if number]
    seconds = [gate[-1] for gate in gates]
    return (f"| {name} | {len(gates)} | "
            + " | ".join(share(counts[verdict], len(gates)) for verdict in VERDICTS)
            + (f" | {statistics.mean(pairs):.1f}, {max(pairs)}" if pairs else " | ")
            + f" | {statistics.mean(seconds):.0f} s, {max(seconds):.0f} s |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="NAME=SLOWDOWN OPTIONS")
    parser.add_argument("--ptbench", type=pathlib.Path, required=True)
    parser.add_argument("--gates", type=int, default=20, help="of each case")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    ptbench = arguments.ptbench.resolve()
    cases = [case_of(text) for text in arguments.cases]
    done = {name: [] for name, *_ in cases}
    begin = datetime.datetime.now(datetime.timezone.utc)
    version = subprocess.run([ptbench, "--version"], capture_output=True, text=True, check=True)
    for number in range(arguments.gates):
        for name, slowdown, options in cases:
            done[name].append(gate(ptbench, slowdown, options))
            print(number + 1, name, *done[name][-1], flush=True)
        end = datetime.datetime.now(datetime.timezone.utc)
        lines = ["# Whole gates", "",
                 f"- date: {begin:%Y-%m-%d, %H:%M}–{end:%H:%M} UTC",
                 f"- machine: {os.cpu_count()} cores; Linux {platform.release()}",
                 f"- {version.stdout.splitlines()[0]}",
                 "- command: `bench/whole_gates.py " + shlex.join(arguments.cases) + "`", "",
                 "| case | gates | " + " | ".join(VERDICTS)
                 + " | pairs a gate: mean, most | time a gate: mean, most |",
                 "|---" * (len(VERDICTS) + 4) + "|",
                 *(row(name, gates) for name, gates in done.items() if gates), "",
                 "Each gate in turn: verdict, pairs, change of the median step, seconds.", ""]
        for name, gates in done.items():
            lines += [f"- {name}: " + "; ".join(
                f"{verdict}, {pairs}, {change}, {seconds:.0f}" for verdict, pairs, change, seconds in gates)]
        arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
