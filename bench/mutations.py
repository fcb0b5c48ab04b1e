#!/usr/bin/env python3
"""Trains with planted faults, and tells which check of `ptbench run` caught each.

    scripts/build release ptbench_mutated && bench/mutations.py -o results/mutations.md

The faults are those of tests/mutations/mutations.json, in ptbench_mutated: ptbench with faults in
its shipped sources that the variable PTBENCH_MUTATION switches on. Each is run in its setups, in
fp32 and bf16, with SGD and Adam, as a user runs ptbench: nothing but workload, strategy, precision
and optimizer is named. A fault is caught when the run ends with exit code 2 and says why. Each setup
is also verified without a fault (`--verify only`), which has to pass. Exit code 1 if anything is not
as it should be. Only Python's standard library is used.
"""
import argparse
import collections
import datetime
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
PRECISIONS = ["fp32", "bf16"]
OPTIMIZERS = {"sgd": ["--optimizer", "sgd", "--lr", "0.01", "--momentum", "0.9"],
              "adam": ["--optimizer", "adam"]}
DEADLINE = 600  # seconds of a run

Trial = collections.namedtuple("Trial", "setup fault precision optimizer together_with")
Outcome = collections.namedtuple("Outcome", "trial right says")


def trials_of(table, wanted):
    """Per setup, precision and optimizer first the one without a fault."""
    trials = []
    for setup, precision, optimizer in itertools.product(table["setups"], PRECISIONS, OPTIMIZERS):
        if precision not in table["setups"][setup].get("precisions", PRECISIONS):
            continue
        rows = [Trial(setup, None, precision, optimizer, None)]
        for row in table["mutations"]:
            named = not wanted or row["name"] in wanted
            if named and setup in row["setups"] and optimizer in row.get("optimizers", OPTIMIZERS):
                together = row.get("together_with")
                if together:
                    rows.append(Trial(setup, None, precision, optimizer, together))
                rows.append(Trial(setup, row["name"], precision, optimizer, together))
        if len(rows) > 1:
            trials += rows
    return trials


def arguments_of(table, trial, small):
    setup = table["setups"][trial.setup]
    workload = table["small_workloads"][setup["workload"]] if small else setup["workload"]
    buckets = table["small_buckets"] if small and "buckets" in setup else setup.get("buckets", [])
    length = [] if trial.fault else ["--verify", "only"]
    if small:
        plan = f"{trial.setup}-{trial.precision}.json"
        length = ["--threads", "1", "--steps", "40", "--plan", plan]
    return ["-w", workload, *setup["arguments"], *buckets, "--precision", trial.precision,
            *OPTIMIZERS[trial.optimizer], *length]


def shortened(reason):
    """Which check, without the numbers of this run."""
    reason = reason.removeprefix("does not match serial training: ")
    for pattern, short in [(r"the loss of step", "loss"),
                           (r"the (gradient.*?) of", r"\1"),
                           (r"the update of '.*?' \((.*?)\)", r"update (\1)"),
                           (r"the parameters of rank \d+ differ", "ranks differ"),
                           (r"began its forward pass without", "statistics did not come"),
                           (r"differs from the oracle's", "running statistics"),
                           (r"was skipped", "skipped step")]:
        if match := re.search(pattern, reason):
            return match.expand(short)
    return reason


def perform(table, trial, program, folder, small):
    arguments = arguments_of(table, trial, small)
    arguments = [str(ROOT / text) if text.endswith(".json") and "/" in text else text
                 for text in arguments]
    faults = ",".join(text for text in (trial.fault, trial.together_with) if text)
    environment = {**os.environ, "PTBENCH_MUTATION": faults, "XDG_CACHE_HOME": f"{folder}/cache"}
    result = pathlib.Path(folder, "r.json")
    result.unlink(missing_ok=True)
    try:
        done = subprocess.run([program, "run", *arguments, "-o", result.name], cwd=folder,
                              env=environment, timeout=DEADLINE, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return Outcome(trial, False, f"not ended after {DEADLINE} s")
    if not result.exists():
        return Outcome(trial, False, " ".join(done.stderr.split())[-200:])
    record = json.loads(result.read_text())["runs"][0]
    if trial.fault is None:
        status = record["verification"]["status"]
        return Outcome(trial, done.returncode == 0 and status == "passed",
                       record["reason"] or status)
    if done.returncode == 0:
        return Outcome(trial, False, f"not caught: verification {record['verification']['status']}")
    caught = done.returncode == 2 and re.search("does not match serial|after timing",
                                                record["reason"] or "")
    return Outcome(trial, bool(caught), record["reason"] or f"exit code {done.returncode}")


def cell(outcomes, key):
    outcome = outcomes.get(key)
    if outcome is None:
        return "–"
    return shortened(outcome.says) if outcome.right else f"**{outcome.says}**"


def report(table, options, version, done):
    columns = list(itertools.product(PRECISIONS, OPTIMIZERS))
    found = {one.trial[:4]: one for one in done if one.trial.fault}
    passed = [one for one in done if not one.trial.fault]
    caught = [one for one in found.values() if one.right]
    lines = [
        "# Planted faults, and what `ptbench run` says", "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {evidence.machine()}",
        f"- {version}, built as `ptbench_mutated`",
        f"- command: `bench/mutations.py{' --small' if options.small else ''}`",
        "- a fault is caught when the run ends with exit code 2; the table says which check found "
        "it; – where the optimizer has no such term", "",
        f"{len(caught)} of {len(found)} runs with a fault were refused, and "
        f"{sum(one.right for one in passed)} of {len(passed)} without one passed.", "",
        f"| fault | setup | {' | '.join(' '.join(column) for column in columns)} |",
        f"|---|---|{'---|' * len(columns)}"]
    for row in table["mutations"]:
        for setup in row["setups"]:
            keys = [(setup, row["name"], *column) for column in columns]
            if any(key in found for key in keys):
                lines.append(f"| {row['fault']} | {setup} | "
                             f"{' | '.join(cell(found, key) for key in keys)} |")
    lines += ["", "| setup | options |", "|---|---|"]
    for setup in dict.fromkeys(one.trial.setup for one in done):
        words = arguments_of(table, Trial(setup, "any", "P", "adam", None), options.small)
        cut = words.index("--precision")
        lines.append(f"| {setup} | `{' '.join(words[:cut] + words[cut + 4:])}` |")
    lines += [f"| {name} | `{' '.join(words)}` |" for name, words in OPTIMIZERS.items()
              if name == "sgd"] + ["| adam | `--optimizer adam` |"]
    lines += ["", *(f"- without a fault: {one.trial}: {one.says}" for one in passed
                    if not one.right)]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default=ROOT / "build/release/tests/ptbench_mutated")
    parser.add_argument("--small", action="store_true", help="the tests' small models, 40 steps")
    parser.add_argument("--only", nargs="*", default=[], metavar="FAULT")
    parser.add_argument("-o", "--output", help="Markdown file")
    options = parser.parse_args()
    table = json.loads((ROOT / "tests/mutations/mutations.json").read_text())
    program = str(pathlib.Path(options.ptbench).resolve())
    version = evidence.version_of(program)
    done = []
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        for trial in trials_of(table, options.only):
            done.append(perform(table, trial, program, folder, options.small))
            print("right" if done[-1].right else "WRONG", *map(str, trial[:4]), "-", done[-1].says,
                  file=sys.stderr, flush=True)
    text = report(table, options, version, done)
    if options.output:
        pathlib.Path(options.output).write_text(text)
    else:
        print(text)
    sys.exit(not all(one.right for one in done))


if __name__ == "__main__":
    main()
