#!/usr/bin/env python3
"""How often gates in lockstep cry wolf, and what they find, from recorded pairs.

    cmake --build build/release --target ptbench_bench_lockstep_gates
    bench/gates.py -o results/gates.md "mlp, 2 threads, busy: A/A=DIR" \\
        "mlp, 2 threads, busy: 5 %=DIR2" "mlp, 1 thread, quiet: 3 %=DIR3@0.03"

Each case is NAME=DIR or NAME=DIR@DETECT, with DIR/base.json and DIR/new.json as
`ptbench gate --keep DIR` writes them: many pairs of processes that took turns, each with a name of
its own in `repetitions[].lockstep`, in the order in which they were measured. Pairs are assumed to be
independent: fresh processes each, and no pair was left out for what it said.

Gates are disjoint windows of consecutive pairs. The program's own rule judges them (the small
program above, compiled from the same sources: nothing is judged in Python), looking after 6, 8, 10
and 14 pairs (--max-pairs). A gate ends with its verdict, and the next begins with the pair after;
none begins where fewer than --max-pairs are left, so that no gate is left out for being undecided.
With --learn, gates teach later ones of the same case how pairs scatter, else it is 1 %.

Shares have exact 95 % intervals (Clopper and Pearson, 1934). "Realised" is the change over all pairs
of a case, by median and mean, with the rule's 99.9 % interval each; "injected" is the slowdown in
NEW's record. The time of a gate is that of its pairs: how many, times the median time from the start
of one pair to that of the next; choosing operators before the first pair is not in it. Only Python's
standard library is used.
"""
import argparse
import collections
import json
import math
import pathlib
import shlex
import statistics
import subprocess
import sys

VERDICTS = ("same", "faster", "slower", "ambiguous")


def tail(successes, trials, share):
    """Probability of at least so many successes."""
    return math.fsum(math.comb(trials, k) * share**k * (1 - share)**(trials - k)
                     for k in range(successes, trials + 1))


def root(rises, wanted):
    """Where a function that rises from 0 to 1 over [0, 1] reaches a value."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < wanted else (low, middle)
    return (low + high) / 2


def clopper_pearson(successes, trials, level=0.95):
    error = (1 - level) / 2
    low = root(lambda p: tail(successes, trials, p), error) if successes else 0.0
    high = (root(lambda p: tail(successes + 1, trials, p), 1 - error)
            if successes < trials else 1.0)
    return low, high


def share(successes, trials):
    if not trials:
        return "none"
    low, high = clopper_pearson(successes, trials)
    return f"{successes} ({100 * low:.1f}–{100 * high:.1f} %)"


def starts_of(run):
    """When each pair began, by its name."""
    starts = {}
    for repetition in run["samples"]["repetitions"]:
        name, start = repetition.get("lockstep"), repetition.get("started_unix_seconds")
        if name is not None and start is not None:
            starts[name] = min(start, starts.get(name, start))
    return starts


def pair_seconds(base, new):
    """From the start of a pair to that of the next one; None where that is not known."""
    earliest = starts_of(base)
    for name, start in starts_of(new).items():
        if name in earliest:
            earliest[name] = min(start, earliest[name])
    starts = sorted(earliest.values())
    return (statistics.median(later - start for start, later in zip(starts, starts[1:]))
            if len(starts) > 1 else None)


def change_text(change):
    low, high = (math.expm1(change["estimate"] + sign * change["half_width"]) for sign in (-1, 1))
    return f"{100 * math.expm1(change['estimate']):+.2f} [{100 * low:+.2f}, {100 * high:+.2f}] %"


def judged(arguments, folder, detect):
    command = [arguments.judge, folder / "base.json", folder / "new.json", str(detect),
               str(arguments.max_pairs), *(["learn"] if arguments.learn else [])]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))} ended with {result.returncode}:\n{result.stderr}")
    return [json.loads(line) for line in result.stdout.splitlines()]


def rows_of(arguments, case):
    name, _, place = case.rpartition("=")
    place, _, detect = place.partition("@")
    detect = float(detect or 0.05)
    folder = pathlib.Path(place)
    base, new = (json.loads((folder / file).read_text()) for file in ("base.json", "new.json"))
    runs = [{run["id"]: run for run in side["runs"]} for side in (base, new)]
    for found in judged(arguments, folder, detect):
        gates = found["gates"]
        counts = collections.Counter(gate["verdict"] for gate in gates)
        seconds = pair_seconds(*(side[found["id"]] for side in runs))
        used = [gate["pairs"] for gate in gates]
        injected = runs[1][found["id"]]["samples"].get("slowdown")
        yield " | ".join([
            f"| {name or found['id']}", f"{100 * detect:g} %",
            "none" if not injected else f"{100 * injected:g} %",
            change_text(found["all"]["median"]) if found["all"] else "",
            change_text(found["all"]["mean"]) if found["all"] else "",
            f"{found['pairs']}", f"{len(gates)}",
            *(share(counts[verdict], len(gates)) for verdict in VERDICTS),
            f"{statistics.mean(used):.1f}, {max(used)}" if used else "",
            (f"{statistics.mean(used) * seconds:.0f} s, {max(used) * seconds:.0f} s"
             if used and seconds else ""),
        ]) + " |"


def builds_of(case):
    place = case.rpartition("=")[2].partition("@")[0]
    for file in ("base.json", "new.json"):
        generator = json.loads((pathlib.Path(place) / file).read_text())["generator"]
        yield f"{generator['version']} {generator['git_commit']} {generator['build_type']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="NAME=DIR[@DETECT]")
    parser.add_argument("--judge", default="build/release/bench/ptbench_bench_lockstep_gates")
    parser.add_argument("--max-pairs", type=int, default=14)
    parser.add_argument("--learn", action="store_true")
    parser.add_argument("-o", "--output", help="Markdown file")
    arguments = parser.parse_args()

    head = ["case", "detect", "injected", "realised, median", "realised, mean", "pairs", "gates",
            *VERDICTS, "pairs a gate: mean, most", "time a gate: mean, most"]
    lines = [f"Measured with {', '.join(sorted({b for c in arguments.cases for b in builds_of(c)}))}. "
             f"Command: `bench/gates.py {shlex.join(sys.argv[1:])}`", "",
             "| " + " | ".join(head) + " |", "|---" * len(head) + "|",
             *(row for case in arguments.cases for row in rows_of(arguments, case)), ""]
    if arguments.output:
        pathlib.Path(arguments.output).write_text("\n".join(lines))
    else:
        print("\n".join(lines))


if __name__ == "__main__":
    main()
