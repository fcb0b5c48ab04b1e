#!/usr/bin/env python3
"""Tries the measuring of users' programs: do step times agree with the script's own clock, and do gates tell?

    bench/program_trials.py clock --torchrun build/peers/venv/bin/torchrun -o results/program-clock.md
    bench/program_trials.py gates --gates 20 --torchrun build/peers/venv/bin/torchrun -o results/program-gates.md
    bench/program_trials.py compare --gates 20 --torchrun build/peers/venv/bin/torchrun -o results/program-compare.md

The program is a loop that hashes a fixed number of bytes a step, in one process and, with --torchrun, in two
ranks. `clock` compares each step that a record holds with what the script's own clock says of it, of ranks the
slowest: records leave out steps (warm-up, those after waits), so that steps are found again in order, as those
that differ least, which is the best case. `gates` runs `ptbench gate` of the loop against itself, and against
itself with a sleep of 5 % of a step, in turn; verdicts and what each gate saw are written as one row each, after
every gate. `compare` does so with whole runs that `ptbench compare` judges: a run, one with the sleep, a run, and so
on, each beside the last run without; runs that --keep kept can be judged by another build (--judge). Only Python's
standard library is used.
"""
import argparse
import collections
import datetime
import itertools
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEP_SECONDS = 0.01
SLOWER = 0.05
LOOP = """
import hashlib, os, sys, time
import ptbench

blocks, pause, log = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
data, seconds = bytes(1 << 16), []
for step in ptbench.steps(samples=1):
    begin = time.perf_counter()
    for _ in range(blocks):
        hashlib.sha256(data).digest()
    if pause:
        time.sleep(pause)
    seconds.append(time.perf_counter() - begin)
if log != "none":
    with open(log + os.environ.get("RANK", "0"), "w") as file:
        file.write(" ".join(map(repr, seconds)))
"""


def blocks_of_a_step():
    """How many 64 KiB blocks take STEP_SECONDS here, and how long they then take."""
    code = ("import hashlib, time\ndata = bytes(1 << 16)\nbest = 1.0\nfor _ in range(2000):\n"
            " begin = time.perf_counter(); hashlib.sha256(data).digest(); best = min(best, time.perf_counter() - begin)\n"
            "print(best)")
    block = float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    return max(1, round(STEP_SECONDS / block))


def programs(folder, arguments):
    """Name -> how the loop is started; what follows are its arguments."""
    script = folder / "loop.py"
    script.write_text(LOOP)
    found = {"one process": f"exec {sys.executable} {script}"}
    if arguments.torchrun:
        found["2 ranks of torchrun"] = f"exec {arguments.torchrun} --nproc-per-node 2 {script}"
    return {name: start for name, start in found.items() if arguments.only in name}


def disagreements(told, own):
    """Of each step that was told, its share by which the clock of the script differs.

    Both are in order, and `own` has steps that `told` lacks: those are left out that make the sum the least.
    """
    spare = len(own) - len(told)
    # Of the steps by now, with so many left out: the sum, and the shares behind it.
    best = [(0.0, None)] * (spare + 1)
    for step, one in enumerate(told):
        row = []
        for left_out in range(spare + 1):
            share = abs(one / own[step + left_out] - 1)
            here = (best[left_out][0] + share, (share, best[left_out][1]))
            row.append(min(here, row[-1], key=lambda sum_and_path: sum_and_path[0]) if row else here)
        best = row
    path, shares = best[-1][1], []
    while path:
        shares.append(path[0])
        path = path[1]
    return shares


def run(arguments, program, options, result):
    """Measures the program into a file; ends the script where it cannot."""
    command = [arguments.ptbench, "run", "--program", program, "--name", "loop", *options, "-o", str(result)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {done.returncode}:\n{done.stderr}")


def clock_row(arguments, name, program, blocks, folder):
    log, result = folder / "own.", folder / "r.json"
    run(arguments, f"{program} {blocks} 0 {log}", ["--steps", str(arguments.steps)], result)
    ranks = [[float(word) for word in path.read_text().split()] for path in sorted(folder.glob("own.*"))]
    for path in folder.glob("own.*"):
        path.unlink()
    told = json.loads(result.read_text())["runs"][0]["samples"]["step_seconds"]
    shares = disagreements(told, [max(step) for step in zip(*ranks)])
    medians = 1e3 * statistics.median(told)
    return (f"| {name} | {len(told)} | {medians:.3f} ms | {100 * statistics.median(shares):.3f} % | "
            f"{100 * max(shares):.3f} % | {sum(one <= 0.005 for one in shares)} |")


def clock(arguments, folder):
    blocks = blocks_of_a_step()
    rows = [clock_row(arguments, name, program, blocks, folder)
            for name, program in programs(folder, arguments).items() for _ in range(arguments.rounds)]
    return ["# Step times of programs, and their own clock", "", *head_of(arguments),
            "- each step in the record beside `time.perf_counter()` in the loop's body, of ranks the slowest; which steps "
            "the record left out is not known, so that those are taken that differ least", "",
            "| program | steps | median | median difference | largest | within 0.5 % |",
            "|---|---|---|---|---|---|", *rows]


SIDES = (("A/A", 0), (f"{100 * SLOWER:g} %", SLOWER * STEP_SECONDS))  # what the new side is, and its sleep a step


def judged(command):
    """Verdict and change of one gate or comparison, and what was wrong where there is no verdict."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if done.returncode not in (0, 3):
        return {"verdict": f"failed ({done.returncode})", "change": None, "clock": None, "by": "",
                "reason": done.stderr.strip()[-200:]}
    one = json.loads(done.stdout)["runs"][0]
    return {"verdict": one["verdict"], "change": one["change"], "clock": one["clock_change"],
            "by": "pairs" if one["pairs"] else "cycles" if one["in_cycles"] else "time",
            "reason": one["reason"] or ""}


def gates_of(program, _folder, arguments):
    """Side and judgement of each gate of a program, without end."""
    while True:
        for side, pause in SIDES:
            yield side, judged([arguments.ptbench, "gate", "--base-program", f"{program} 0 none", "--new-program",
                                f"{program} {pause} none", "--name", "loop", "--json",
                                *shlex.split(arguments.options)])


def runs_of(program, folder, arguments):
    """Whole runs of a program in turn, without the sleep and with it, without end; or those that were kept."""
    keep = arguments.keep or folder
    for number in itertools.count():
        result = path_of(keep, folder.name, number)
        if arguments.judge:
            yield path_of(arguments.judge, folder.name, number)
        else:
            run(arguments, f"{program} {SIDES[number % 2][1]} none", shlex.split(arguments.options), result)
            yield result


def path_of(folder, name, number):
    """Of the run of a program of that name, with that number from 0."""
    return folder / f"{name}-{number:03}.json"


def comparisons_of(program, folder, arguments):
    """Side and judgement of each comparison of two runs of a program, without end."""
    runs = runs_of(program, folder, arguments)
    before = next(runs)
    while True:
        for side, _ in reversed(SIDES):
            result = next(runs)
            yield side, judged([arguments.ptbench, "compare", "--json", str(before), str(result)])
        before = result


def verdicts_of(arguments, folder, source):
    """The report of what `source` yields of each program, in turn; it is written after each judgement."""
    blocks = 0 if arguments.judge else blocks_of_a_step()
    verdicts, rows = collections.defaultdict(collections.Counter), []
    found = {}
    for name, program in programs(folder, arguments).items():
        (folder / name).mkdir()
        found[name] = source(f"{program} {blocks}", folder / name, arguments)
    for number in range(1, arguments.gates + 1):
        for name, judgements in found.items():
            for _ in SIDES:
                begin = time.monotonic()
                side, one = next(judgements)
                verdicts[f"{name}, {side}"][one["verdict"]] += 1
                rows.append(f"| {number} | {name} | {side} | {one['verdict']} | {percent(one['change'])} | "
                            f"{one['by']} | {percent(one['clock'])} | {time.monotonic() - begin:.0f} s | "
                            f"{' '.join(one['reason'].split())} |")
                print(rows[-1], file=sys.stderr, flush=True)
                if arguments.output:
                    write(arguments.output, verdicts_text(arguments, verdicts, rows))
    return verdicts_text(arguments, verdicts, rows)


def verdicts_text(arguments, verdicts, rows):
    kinds = sorted({kind for counts in verdicts.values() for kind in counts})
    return [f"# {'Gates' if arguments.what == 'gates' else 'Comparisons of runs'} of programs", "", *head_of(arguments),
            f"- {100 * SLOWER:g} %: a sleep of that share of a step of {1e3 * STEP_SECONDS:g} ms in one side", "",
            "| gates | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|",
            *(f"| {name} | " + " | ".join(str(counts[kind]) for kind in kinds) + " |"
              for name, counts in verdicts.items()), "",
            f"| {arguments.what.removesuffix('s')} | program | side | verdict | change | by | clock | took | reason |",
            "|---" * 9 + "|", *rows]


def percent(share):
    return "" if share is None else f"{100 * share:+.2f} %"


def head_of(arguments):
    judge = evidence.version_of(arguments.ptbench)
    now = datetime.datetime.now(datetime.timezone.utc)
    date, build, judges = f"{now:%Y-%m-%d %H:%M} UTC", judge, []
    if arguments.judge:  # on the machine that measured, since s0 is of a machine
        file = json.loads(min(arguments.judge.glob("*.json")).read_text())
        made = file["generator"]
        date = file["created"]
        build = f"ptbench {made['version']} (commit {made['git_commit'][:12]}, {made['build_type']})"
        judges = [f"- judged by: {judge}"]
    return [f"- date: {date}",
            f"- machine: {evidence.machine()}; load {os.getloadavg()[0]:.1f}; Python {platform.python_version()}",
            f"- {build}", *judges,
            f"- command: `bench/program_trials.py {shlex.join(sys.argv[1:])}`"]


def write(path, lines):
    pathlib.Path(path).write_text("\n".join([*lines, ""]), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["clock", "gates", "compare"])
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("--torchrun", help="of an environment with PyTorch")
    parser.add_argument("--only", default="", metavar="WORD", help="programs in whose name this is: 'one', 'torchrun'")
    parser.add_argument("--steps", type=int, default=200, help="of clock")
    parser.add_argument("--rounds", type=int, default=3, help="of clock")
    parser.add_argument("--gates", type=int, default=20, help="or comparisons, of each kind")
    parser.add_argument("--options", default="", help="more options of `ptbench gate`, or `run`")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the runs of comparisons there, in order")
    parser.add_argument("--judge", type=pathlib.Path, metavar="DIR", help="judge runs that were kept, not new ones")
    parser.add_argument("-o", "--output", metavar="FILE.md")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="program-trials-") as folder:
        folder = pathlib.Path(folder)
        lines = clock(arguments, folder) if arguments.what == "clock" else verdicts_of(
            arguments, folder, gates_of if arguments.what == "gates" else comparisons_of)
    print("\n".join(lines))
    if arguments.output:
        write(arguments.output, lines)


if __name__ == "__main__":
    main()
