#!/usr/bin/env python3
"""Measures what `--slowdown` really makes a step longer by.

    bench/slowdown.py -o bench/results/slowdown.json
    bench/slowdown.py --case '-w mlp -s ddp -n 2 --threads 1' --share 0.03 --processes 2

Every process leaves some steps as they are and makes as many longer, in turn (the hidden option
`--slowdown-turns`), so that both meet the same machine and the same process. A turn is compared with
the mean of the undragged ones before and after it, by the lower quartile of their steps, as `compare`
does; the first steps of a turn do not count, nor does a turn outside of clean slices. A process tells the median over its turns, a case the
mean over its processes, with Student's 95 % interval. -o adds to the numbers of a file, of one clean Release build. Only Python's standard
library is used.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import evidence

SCHEMA = "ptbench.slowdown/1"
TURN_SECONDS = 0.1
QUIET = 0.1  # busy share of the cores
LEAST_TURNS = 10  # dragged ones of a process, with clean turns on both sides
LEFT_OUT = 2  # steps at the beginning of a turn
CASES = ["-w mlp --threads 1", "-w mlp --threads 2", "-w mlp -s dp -n 2 --threads 1",
         "-w mlp -s ddp -n 2 --threads 1"]


def busy_seconds():
    """Of all cores, since they started."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def wait_for_quiet(most_seconds):
    """Until the cores have been idle for a second, or the time is over: beside other programs no
    turn would be clean."""
    end = time.monotonic() + most_seconds
    while time.monotonic() < end:
        before = busy_seconds()
        time.sleep(1)
        if busy_seconds() - before <= QUIET * os.cpu_count():
            return True
    return False


def run(command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if result.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {result.returncode}:\n{result.stderr}")


def record_of(arguments, options, share, turn, steps):
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "result.json")
        run([arguments.ptbench, "run", *shlex.split(options), "--verify", "off", "--steps", str(steps),
             "--slowdown", str(share), "--slowdown-turns", str(turn), "-o", target])
        return json.loads(pathlib.Path(target).read_text(encoding="utf-8"))


def turns_of(samples, warmup, turn, clean=None):
    """(is dragged, lower quartile of seconds) of each whole turn; None instead of seconds where one
    of its samples is not in `clean` (by default all are). A sample is one step, the first of them
    step `warmup` of the process."""
    turns = []
    first = -(-warmup // turn) * turn  # where the next turn begins
    while first + turn <= warmup + len(samples):
        places = range(first - warmup + LEFT_OUT, first - warmup + turn)
        seconds = None
        if clean is None or all(place in clean for place in places):
            steps = [samples[place] for place in places]
            seconds = statistics.quantiles(steps, n=4, method="inclusive")[0]
        turns.append((first // turn % 2 == 1, seconds))
        first += turn
    return turns


def slowdowns_of(turns):
    """The logarithm of each dragged turn over the geometric mean of its neighbours."""
    return [math.log(here[1]) - (math.log(before[1]) + math.log(after[1])) / 2
            for before, here, after in zip(turns, turns[1:], turns[2:])
            if here[0] and None not in (before[1], here[1], after[1])]


def clean_samples(slices):
    return {place for one in slices if one["clean"]
            for place in range(one["first"], one["first"] + one["count"])}


def process_slowdown(record, turn):
    """By how much the dragged turns of a process are longer: the median, since a turn that
    something else disturbed says nothing of the drag; what the record has; and how many they are.
    None where too few are clean."""
    samples = record["runs"][0]["samples"]
    if samples["steps_per_sample"] != 1:
        sys.exit("steps of less than 1 ms share samples; take a longer one")
    found = slowdowns_of(turns_of(samples["step_seconds"], samples["warmup_discarded"], turn,
                                  clean_samples(samples["slices"])))
    if len(found) < LEAST_TURNS:
        return None
    return math.expm1(statistics.median(found)), samples["slowdown_realized"], len(found)


def measure(arguments, results, options, share):
    probe = record_of(arguments, options, share, 8, 50)
    step = probe["runs"][0]["step_seconds"]["median"]
    turn = max(4 + LEFT_OUT, round(TURN_SECONDS / step))
    case = {"options": options, "asked": share, "steps_a_turn": turn, "slowdowns": [],
            "recorded": [], "turns": 0, "realized": None}
    for _ in range(arguments.attempts):
        if len(case["slowdowns"]) == arguments.processes:
            break
        if not wait_for_quiet(arguments.patience):
            print("other programs took the cores all the time", file=sys.stderr)
            continue
        record = record_of(arguments, options, share, turn, round(arguments.seconds / step))
        note_origin(results, record)
        found = process_slowdown(record, turn)
        if found is None:
            print(f"{options} {share:g}: too few clean turns", file=sys.stderr)
            continue
        case["slowdowns"].append(found[0])
        case["recorded"].append(found[1])
        case["turns"] += found[2]
        print(f"{options} {share:g}: {100 * found[0]:.2f} %, recorded {100 * found[1]:.2f} %, "
              f"{found[2]} turns", file=sys.stderr)
    if case["slowdowns"]:
        case["realized"] = statistics.mean(case["recorded"])
        results["cases"].append(case)


def note_origin(results, record):
    cpu = record["environment"]["cpu"]
    results["machine"] = f"{cpu['model']}, {cpu['cores']} cores"
    if record["generator"] not in results["generators"]:
        results["generators"].append(record["generator"])


def load(path):
    if path and os.path.exists(path):
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    return {"schema": SCHEMA, "machine": None, "generators": [], "cases": [],
            "date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("--case", action="append", metavar="OPTIONS", help="of `ptbench run`")
    parser.add_argument("--share", type=float, action="append", help="asked for; default 0.05")
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--attempts", type=int, default=20, help="to have so many with clean turns")
    parser.add_argument("--patience", type=float, default=60,
                        help="seconds to wait for other programs to end, before a process")
    parser.add_argument("--seconds", type=float, default=10, help="of steps, a process")
    parser.add_argument("-o", "--output", metavar="FILE.json")
    arguments = parser.parse_args()
    results = load(arguments.output)
    for options in arguments.case or CASES:
        for share in arguments.share or [0.05]:
            measure(arguments, results, options, share)
            if arguments.output and results["cases"]:
                evidence.require_origin_or_exit(results["generators"])
                pathlib.Path(arguments.output).write_text(json.dumps(results, indent=1) + "\n",
                                                          encoding="utf-8")
    for case in results["cases"]:
        found = evidence.mean(case["slowdowns"])
        ends = ("" if found.low is None
                else f" [{100 * found.low:.3f}, {100 * found.high:.3f}]")
        print(f"{case['options']}, asked {100 * case['asked']:g} %: {100 * found.middle:.3f} %{ends}"
              f", recorded {100 * case['realized']:.3f} %, {case['turns']} turns")


if __name__ == "__main__":
    main()
