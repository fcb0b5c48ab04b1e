#!/usr/bin/env python3
"""Runs `ptbench gate` again and again, and counts its verdicts and seconds.

    bench/whole_gates.py --ptbench build/release/ptbench --gates 20 -o bench/results/gates.md \\
        "mlp, 2 threads: 1 %=0.01 -w mlp --threads 2 --detect 1%" "A/A=0 -w mlp --threads 2 --detect 1%"

Each case is NAME=SLOWDOWN and the gate's options; the cases take turns. BASE and NEW are the same
build; NEW runs with `--slowdown`, where that is not 0. Every gate counts, however it ended; each has
a cache and a folder of its own, so that no gate teaches another. OUTPUT.json keeps each gate; where
it is there already, of the same build, its gates count and only what lacks is run. Shares have exact 95 % intervals
(Clopper and Pearson, 1934); seconds are those of the whole command. Only Python's standard library
is used.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import evidence

VERDICTS = ("same", "slower", "faster", "ambiguous")
OUTCOMES = (*VERDICTS, "failed")


def case_of(text):
    name, _, rest = text.partition("=")
    slowdown, *options = shlex.split(rest)
    return name, float(slowdown), options


def detect_of(options):
    return options[options.index("--detect") + 1] if "--detect" in options else "5%"


def slower_build(ptbench, slowdown, folder):
    if not slowdown:
        return ptbench
    wrapper = folder / "ptbench"
    wrapper.write_text(f"#!/bin/sh\nexec {shlex.quote(str(ptbench))} \"$@\" --slowdown={slowdown}\n")
    wrapper.chmod(0o755)
    return wrapper


def gate(ptbench, slowdown, options):
    """How one gate ended."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        command = [ptbench, "gate", "--base", ptbench, "--new",
                   slower_build(ptbench, slowdown, folder), *options]
        begin = time.monotonic()
        try:
            output = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=folder,
                                    env=os.environ | {"XDG_CACHE_HOME": place, "COLUMNS": "200"}).stdout
        except subprocess.TimeoutExpired:
            output = ""
        seconds = time.monotonic() - begin
    words = output.split()
    pairs = re.search(r"n (\d+) pairs", output)
    change = re.search(r"([+-]?[\d.]+) % \(([+-]?[\d.]+) % to ([+-]?[\d.]+) %\)", output)
    return {"verdict": words[0] if words and words[0] in VERDICTS else "failed", "pairs": int(pairs[1]) if pairs else None,
            "change": change[0] if change else "", "seconds": round(seconds, 1)}


def share(count, gates):
    found = evidence.proportion(count, gates)
    return f"{count} ({100 * found.low:.1f}–{100 * found.high:.1f} %)"


def row(name, options, gates):
    counts = collections.Counter(gate["verdict"] for gate in gates)
    pairs = [gate["pairs"] for gate in gates if gate["pairs"]]
    seconds = [gate["seconds"] for gate in gates]
    return (f"| {name} | {detect_of(options).replace('%', ' %')} | {len(gates)} | "
            + " | ".join(share(counts[outcome], len(gates)) for outcome in OUTCOMES)
            + (f" | {statistics.mean(pairs):.1f}, {max(pairs)}" if pairs else " | ")
            + f" | {statistics.mean(seconds):.0f} s, {max(seconds):.0f} s |")


def now():
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d, %H:%M}"


def report(record, cases, command):
    lines = ["# Whole gates", "", f"- date: {record['begin']} to {record['end']} UTC",
             f"- machine: {record['machine']}",
             f"- {record['build']}", f"- command: `bench/whole_gates.py {command}`", "",
             "| case | detect | gates | " + " | ".join(OUTCOMES)
             + " | pairs a gate: mean, most | time a gate: mean, most |",
             "|---" * (len(OUTCOMES) + 5) + "|"]
    done = record["gates"]
    lines += [row(name, options, done[name]) for name, _, options in cases if done[name]]
    lines += ["", "Each gate: verdict, pairs, change of the median step, seconds.", ""]
    for name, *_ in cases:
        lines.append(f"- {name}: " + "; ".join(
            ", ".join(str(value) for value in gate.values()) for gate in done[name]))
    return "\n".join(lines) + "\n"


def begun(path, build, cases):
    record = json.loads(path.read_text()) if path.exists() else {
        "begin": now(), "end": now(), "build": build, "machine": evidence.machine(), "gates": {}}
    if record["build"] != build:
        sys.exit(f"{path} has gates of another build, {record['build']}: choose another --output")
    for name, *how in cases:
        record["gates"].setdefault(name, [])
        if record.setdefault("cases", {}).setdefault(name, how) != how:
            sys.exit(f"{path} has gates of '{name}' with other options: choose another --output")
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="NAME=SLOWDOWN OPTIONS")
    parser.add_argument("--ptbench", type=pathlib.Path, required=True)
    parser.add_argument("--gates", type=int, default=20, help="of each case")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="OUTPUT.md")
    arguments = parser.parse_args()
    ptbench = arguments.ptbench.resolve()
    cases = [case_of(text) for text in arguments.cases]
    build = evidence.version_of(ptbench).replace(" (commit", ", commit").replace(", Release)", " (Release)")
    kept = arguments.output.with_suffix(".json")
    record = begun(kept, build, cases)
    for number in range(arguments.gates):
        for name, slowdown, options in cases:
            if len(record["gates"][name]) > number:
                continue
            record["gates"][name].append(gate(ptbench, slowdown, options))
            record["end"] = now()
            print(number + 1, name, *record["gates"][name][-1].values(), flush=True)
            kept.write_text(json.dumps(record, indent=1) + "\n")
    arguments.output.write_text(report(record, cases, shlex.join(arguments.cases)))


if __name__ == "__main__":
    main()
