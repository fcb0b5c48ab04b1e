#!/usr/bin/env python3
"""How pairs of processes that took turns scatter, by how long turns are and how many there were.

    bench/turns.py -o results/turns.md "30 ms=DIR" "0.2 s=DIR2" ...

Each case is NAME=DIR[,DIR...] with DIR/base.json and DIR/new.json as `ptbench gate --keep DIR` or
`ptbench sweep --binary A -o DIR/base.json --binary B -o DIR/new.json` write them. For each case the
pairs are taken as they are, and cut into shorter ones of fewer quads (disjoint windows, so that
all recorded time is used; windows of one pair share its processes). A row has the standard
deviation and the scaled median absolute deviation over pairs of the change by the median (over
quads, of slices' medians) and by the mean (of all steps), as src/judge/lockstep_pairs.h defines
them, and the time that a pair's turns took.

`--discard N ...` tells instead how the change over all pairs moves when the first N measured steps
of every turn are left out as well (of palindromes whose turns have more than that). Only Python's
standard library is used.
"""
import argparse
import json
import math
import pathlib
import statistics


def slices_of(path):
    """(turn, step seconds) by set, in the order of turns."""
    samples = json.loads(path.read_text())["runs"][0]["samples"]
    sets = {}
    for one in samples["slices"]:
        name = samples["repetitions"][one["repetition"]].get("lockstep")
        if name is None or one.get("turn") is None:
            continue
        steps = samples["step_seconds"][one["first"]:one["first"] + one["count"]]
        sets.setdefault(name, []).append((one["turn"], steps))
    return {name: sorted(turns) for name, turns in sets.items()}


def quads_of(base, new):
    """Of two sides of which each palindrome has two turns: ((base, base), (new, new))."""
    by_turn = {turn: (side, steps) for side, turns in enumerate((base, new)) for turn, steps in turns}
    quads = []
    for first in range(0, len(by_turn) // 4 * 4, 4):
        turns = [by_turn.get(first + place) for place in range(4)]
        if None in turns or sum(side for side, _ in turns) != 2:
            continue
        quads.append(tuple([steps for side, steps in turns if side == wanted] for wanted in (0, 1)))
    return quads


def change(quads, discard=0):
    """By median and by mean, of logarithms."""
    def log_median(steps):
        return math.log(statistics.median(steps[discard:]))

    medians = [sum(map(log_median, new)) / 2 - sum(map(log_median, base)) / 2
               for base, new in quads]
    means = [statistics.fmean(step for quad in quads for turn in quad[side]
                              for step in turn[discard:]) for side in (0, 1)]
    return statistics.median(medians), math.log(means[1] / means[0])


def pairs_of(folders):
    pairs = []
    for folder in folders:
        base, new = (slices_of(pathlib.Path(folder) / name) for name in ("base.json", "new.json"))
        pairs += [quads_of(base[name], new[name]) for name in base if name in new]
    return [quads for quads in pairs if quads]


def scatter(values):
    centre = statistics.median(values)
    return (statistics.stdev(values),
            1.4826 * statistics.median(abs(value - centre) for value in values))


def percent(value):
    return f"{100 * value:.2f} %"


def table_of_scatter(cases):
    rows = ["| case | pairs | quads a pair | turns of a pair | median: sd, MAD | mean: sd, MAD |",
            "|---|---|---|---|---|---|"]
    for name, folders in cases:
        pairs = pairs_of(folders)
        whole = max(map(len, pairs))
        for quads in sorted({whole, whole // 2, whole // 4} - {0}, reverse=True):
            cut = [pair[at:at + quads] for pair in pairs
                   for at in range(0, len(pair) - quads + 1, quads)]
            changes = [change(one) for one in cut]
            seconds = statistics.fmean(sum(sum(turn) for quad in one for side in quad
                                           for turn in side) for one in cut)
            texts = [", ".join(map(percent, scatter([one[at] for one in changes])))
                     for at in (0, 1)]
            rows.append(f"| {name} | {len(cut)} | {quads} | {seconds:.1f} s | {texts[0]} "
                        f"| {texts[1]} |")
    return rows


def table_of_discards(cases, counts):
    rows = ["| case | pairs | steps left out besides | change by the median | by the mean |",
            "|---|---|---|---|---|"]
    for name, folders in cases:
        least = max(counts) + 1
        pairs = [[quad for quad in pair if all(len(turn) >= least for side in quad for turn in side)]
                 for pair in pairs_of(folders)]
        pairs = [pair for pair in pairs if pair]
        for count in counts:
            changes = [change(pair, count) for pair in pairs]
            texts = []
            for at in (0, 1):
                values = [one[at] for one in changes]
                error = statistics.stdev(values) / math.sqrt(len(values))
                texts.append(f"{percent(statistics.fmean(values))} ± {percent(1.96 * error)}")
            rows.append(f"| {name} | {len(pairs)} | {count} | {texts[0]} | {texts[1]} |")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="+", metavar="NAME=DIR[,DIR...]")
    parser.add_argument("--discard", nargs="+", type=int, metavar="N")
    parser.add_argument("-o", "--output", help="Markdown file to which the table is appended")
    options = parser.parse_args()
    cases = [(name, folders.split(",")) for name, _, folders in
             (case.partition("=") for case in options.cases)]
    rows = table_of_discards(cases, options.discard) if options.discard else table_of_scatter(cases)
    text = "\n".join(rows) + "\n"
    if options.output:
        with open(options.output, "a", encoding="utf-8") as file:
            file.write("\n" + text)
    print(text, end="")


if __name__ == "__main__":
    main()
