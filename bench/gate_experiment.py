#!/usr/bin/env python3
"""Tries the regression gate on this machine: how often it cries wolf, and what it finds.

    bench/gate_experiment.py --pairs 100 -o results/gate.md
    bench/gate_experiment.py --pairs 50 --busy -o results/gate-busy.md

A pair is two sides of the same build, 5 fresh processes each, interleaved one by one; beside them
run sides that `--slowdown` makes slower on purpose. `ptbench compare` judges each side against the
first, with `--detect` 5 % or the slowdown. With --busy, a process of this script spins on a core
all the time: no verdict may be false, and the load must be named. Every pair is written as a row of
a Markdown report, with load and placement. With --records DIR all result files are kept there, and
pairs that it has already are only judged again. Only Python's standard library is used.
"""
import argparse
import datetime
import json
import math
import multiprocessing
import pathlib
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

import evidence

PROCESSES = 5


def spin():
    while True:
        pass


def measure(arguments, plan, target, slowdown):
    """One repetition in a process of its own, at most 2 s of steps: three slices, if they are clean."""
    command = [arguments.ptbench, "run", "-w", arguments.workload, "--plan", plan, "--verify", "off",
               "--repeats", "1", "--min-time", "1.4", "--max-time", str(arguments.max_time),
               "--pass", "next", "--slowdown", str(slowdown), "-o", target,
               *shlex.split(arguments.options)]
    result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            timeout=300)
    if result.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {result.returncode}:\n{result.stderr}")


def compare(arguments, base, new, detect):
    result = subprocess.run([arguments.ptbench, "compare", base, new, "--json", "--detect",
                             str(detect)],
                            capture_output=True, text=True, timeout=300)
    if result.returncode not in (0, 3):
        sys.exit(f"compare ended with {result.returncode}:\n{result.stderr}")
    return json.loads(result.stdout)["runs"][0]


def slices_of(folder):
    for file in sorted(folder.glob("*.json")):
        yield from json.loads(file.read_text())["runs"][0]["samples"]["slices"]


def circumstances(folders):
    slices = [one for folder in folders for one in slices_of(folder)]
    known = [one["foreign_cpu_fraction"] for one in slices if one["foreign_cpu_fraction"] is not None]
    foreign = f"{100 * statistics.mean(known):.1f} %" if known else "unknown"
    places = [one["placement"] or "one core" for one in slices]
    counts = ", ".join(f"{places.count(name)} {name}" for name in sorted(set(places)))
    clean = sum(one["clean"] is True for one in slices)
    return foreign, f"{clean}/{len(slices)}", counts


def placement_of(folder):
    """Where most clean repetitions of a side were measured, near if there are as many."""
    repetitions = [json.loads(file.read_text())["runs"][0]["samples"]["repetitions"][0]
                   for file in folder.glob("*.json")]
    places = [one["placement"] for one in repetitions if one["clean_slices"]]
    return max(sorted(set(places), key=str, reverse=True), key=places.count, default=None)


def agree(one, folders):
    """Whether two runs differ by less than √2 × half width of their 95 % intervals; None where
    one of them has no interval, or they speak for different placements of the cores."""
    if not one["base_ci95"] or not one["new_ci95"]:
        return None
    if placement_of(folders["base"]) != placement_of(folders["A/A"]):
        return None
    widths = [math.log(high / low) / 2 for low, high in (one["base_ci95"], one["new_ci95"])]
    middles = [math.log(high * low) / 2 for low, high in (one["base_ci95"], one["new_ci95"])]
    difference = abs(middles[1] - middles[0])
    return difference < math.sqrt(2) * statistics.mean(widths)


def cell(one):
    change = "" if one["change"] is None else f" {100 * one['change']:+.2f} %"
    return one["verdict"] + change


def tally(name, verdicts):
    kinds = ["same", "faster", "slower", "ambiguous"]
    return f"| {name} | " + " | ".join(str(verdicts.count(kind)) for kind in kinds) + " |"


def report_head(arguments, record):
    generator, environment = record["generator"], record["environment"]
    return [
        f"# The gate on this machine: `{arguments.workload}`" + (", with a busy neighbour"
                                                                 if arguments.busy else ""),
        "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {environment['cpu']['model']}, {environment['cpu']['cores']} cores; "
        f"{platform.system()} {platform.release()}",
        f"- ptbench {generator['version']}, commit {generator['git_commit']}, "
        f"{generator['build_type']}",
        f"- judged by: {evidence.version_of(arguments.ptbench)}",
        f"- command: `bench/gate_experiment.py {shlex.join(sys.argv[1:])}`",
        f"- {PROCESSES} processes a side and pair, interleaved; the other build is the same one",
        "",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("-w", "--workload", default="mlp")
    parser.add_argument("--options", default="", help="more options of `ptbench run`")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--slowdowns", default="0.05,0.03", help="sides beside A/A; empty: none")
    parser.add_argument("--max-time", type=float, default=2)
    parser.add_argument("--busy", action="store_true", help="spin on a core beside everything")
    parser.add_argument("--records", help="folder of result files to keep, or to judge again")
    parser.add_argument("-o", "--output", help="Markdown file")
    arguments = parser.parse_args()

    slow = [float(text) for text in arguments.slowdowns.split(",") if text]
    sides = {"base": 0.0, "A/A": 0.0, **{f"{100 * share:g} % slower": share for share in slow}}
    folder = pathlib.Path(arguments.records or tempfile.mkdtemp(prefix="ptbench-gate-"))
    neighbour = multiprocessing.Process(target=spin, daemon=True)
    if arguments.busy:
        neighbour.start()
    verdicts = {name: [] for name in sides if name != "base"}
    detects = {name: sides[name] or 0.05 for name in verdicts}
    named, agreements, rows, head = 0, [], [], []
    try:
        for pair in range(1, arguments.pairs + 1):
            folders = {name: folder / f"{pair}" / str(index) for index, name in enumerate(sides)}
            for one in folders.values():
                one.mkdir(parents=True, exist_ok=True)
            for repetition in range(PROCESSES):
                for name, share in sides.items():
                    target = folders[name] / f"{repetition}.json"
                    if not target.exists():
                        measure(arguments, folder / "plan.json", target, share)
            results = {name: compare(arguments, folders["base"], folders[name], detects[name])
                       for name in verdicts}
            for name, one in results.items():
                verdicts[name].append(one["verdict"])
            agreements.append(agree(results["A/A"], folders))
            record = json.loads((folders["base"] / "0.json").read_text())
            head = head or report_head(arguments, record)
            named += any(warning["code"] in ("foreign-load", "steal")
                         for warning in record["runs"][0]["warnings"])
            load, clean, places = circumstances(folders.values())
            rows.append(f"| {pair} | {load} | {clean} | {places} | "
                        + " | ".join(cell(one) for one in results.values()) + " |")
            print(rows[-1], file=sys.stderr, flush=True)
            if not arguments.records:
                shutil.rmtree(folder / f"{pair}")
            known = [one for one in agreements if one is not None]
            text = "\n".join(head + [
                "| side | same | faster | slower | ambiguous |", "|---|---|---|---|---|",
                *[tally(name, given) for name, given in verdicts.items()], "",
                f"Two runs of the same build differed by less than √2 × the half width of their 95 % "
                f"intervals in {sum(known)} of {len(known)} pairs"
                f" ({len(agreements) - len(known)} others had no interval, or unlike placements). "
                f"Warnings named foreign load or steal in {named} of {pair} pairs.", "",
                "| pair | foreign CPU | clean slices | placement of slices | "
                + " | ".join(verdicts) + " |",
                "|---" * (4 + len(verdicts)) + "|", *rows, ""])
            if arguments.output:
                pathlib.Path(arguments.output).write_text(text)
    finally:
        if neighbour.is_alive():
            neighbour.terminate()
        if not arguments.records:
            shutil.rmtree(folder, ignore_errors=True)
    if not arguments.output:
        print(text)


if __name__ == "__main__":
    main()
