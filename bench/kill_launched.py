#!/usr/bin/env python3
"""Kills and interrupts ranks and their launcher, and looks at what is left.

    bench/kill_launched.py -n 30 --seed 1 -o results/kill-launched.md

A trial is a `ptbench run` of 2 or 3 ranks under mpirun that trains without end, or a `sweep --launcher`.
Once rank 0 has begun, at a random moment (drawn from the seed) one process is hit: a rank is killed, the
launcher is killed or asked to end, or the sweep is. Checked are the time until all processes are gone,
the result file, and what is left in /dev/shm and /run. Exit code 1 if anything is not as it should be.
Only Python's standard library is used.
"""
import argparse
import collections
import contextlib
import datetime
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import evidence
from kill_ranks import left_in_system, processes_of, read, table, wait_until_gone

MARK = "PTBENCH_LAUNCHED_TRIAL"
GONE_WITHIN = 10.0  # seconds, on a busy machine
BEGIN_WITHIN = 30.0
# What is hit, how, and how often.
EVENTS = [("rank", "kill", 10), ("launcher", "kill", 8), ("launcher", "term", 3), ("launcher", "int", 2),
          ("sweep", "kill", 3), ("sweep's launcher", "kill", 4)]
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT}
Trial = collections.namedtuple("Trial", "number ranks victim event moment communicator")
Outcome = collections.namedtuple("Outcome", "hit code status seconds problems")


def command_of(trial, launcher, ptbench):
    train = ["-w", "linear", "-s", "ddp", "--threads", "1", "--verify", "off", "--communicator", trial.communicator]
    if trial.victim.startswith("sweep"):
        return [ptbench, "sweep", *train, "-n", str(trial.ranks), "--rounds", "2", "--max-time", "8",
                "--min-time", "1", "--launcher", f"{launcher} -n {{n}}", "-o", "r.json"]
    return [*launcher.split(), "-n", str(trial.ranks), ptbench, "run", *train, "--steps", "1000000000",
            "-o", "r.json"]


def role_of(arguments):
    """Of a process of a trial, by its arguments."""
    name = os.path.basename(arguments[0])
    if name in ("orterun", "mpirun", "mpirun.openmpi", "mpiexec", "mpiexec.openmpi"):
        return "launcher"
    if name == "sh":
        return "shell"
    return arguments[1] if len(arguments) > 1 else "unknown"


def rank_of(process):
    for text in read(f"/proc/{process}/environ").split(b"\0"):
        if text.startswith(b"OMPI_COMM_WORLD_RANK="):
            return int(text.partition(b"=")[2])
    return None


def ranks_of(mark):
    """The ranks that are there, by number."""
    found = {rank_of(one): one for one, arguments in processes_of(mark).items()
             if role_of(arguments) == "run" and rank_of(one) is not None}
    return dict(sorted(found.items()))


def has_begun(process):
    """Whether rank 0 has opened its result, which it does once the ranks have met."""
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{process}/fd"):
            target = os.readlink(f"/proc/{process}/fd/{name}")
            if re.search(r"/#\d+ \(deleted\)|ptbench-partial", target):
                return True
    return False


def wait_until_begun(mark, ranks):
    end = time.monotonic() + BEGIN_WITHIN
    while time.monotonic() < end:
        there = ranks_of(mark)
        if len(there) == ranks and has_begun(there[0]):
            return there
        time.sleep(0.05)
    return {}


def victim_of(trial, mark, ranks, process, chance):
    if trial.victim == "rank":
        return chance.choice(sorted(ranks.items()))
    if trial.victim == "sweep":
        return "sweep", process.pid
    end = time.monotonic() + BEGIN_WITHIN
    while time.monotonic() < end:  # a sweep may be between two repetitions
        for one, arguments in processes_of(mark).items():
            if role_of(arguments) == "launcher":
                return "mpirun", one
        time.sleep(0.01)
    raise RuntimeError("there is no launcher")


def problems_of(trial, hit, code, errors, record):
    """How the end differs from what it should be."""
    found = []
    if trial.victim == "rank" and hit != "rank 0":
        # The launcher asks the others to end as soon as it sees it; who is first is chance.
        said = (record or {}).get("reason") or ""
        if not record:
            found.append("no result file")
        elif record["status"] not in ("failed", "interrupted"):
            found.append(f"status {record['status']}")
        elif record["status"] == "failed" and not re.search(rf"{hit} .*ended while", said):
            found.append(f"reason {said}")
    # Where MPI's own launcher is killed, MPI ends its ranks at once.
    may_be_lost = trial.communicator == "mpi" and trial.event == "kill"
    if trial.victim == "launcher" and not may_be_lost and (not record or record["status"] != "interrupted"):
        found.append(f"result {record and record['status']}, not interrupted")
    if trial.victim == "sweep's launcher":
        if code != 2:
            found.append(f"exit code {code}, not 2: {' '.join(errors.split())[-300:]}")
        if not record or record["status"] != "failed" or "launcher" not in (record["reason"] or ""):
            found.append(f"result {record and (record['status'], record['reason'])}")
    return found


def row_of_ranks(path):
    """The record of the row that was hit."""
    text = read(path)
    runs = json.loads(text)["runs"] if text else []
    several = [run for run in runs if run["strategy"]["world_size"] > 1]
    return several[0] if several else None


def perform(trial, root, launcher, ptbench, chance):
    folder = pathlib.Path(root) / str(trial.number)
    folder.mkdir()
    name = f"{os.getpid()}-{trial.number}"
    mark = f"{MARK}={name}".encode()
    environment = {**os.environ, MARK: name, "XDG_CACHE_HOME": str(pathlib.Path(root) / "cache"),
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                   "OMPI_MCA_rmaps_base_oversubscribe": "1",
                   # Between the request to end and the kill; by default a second.
                   "OMPI_MCA_odls_base_sigkill_timeout": "2"}
    system_before = left_in_system()
    with open(folder / "errors", "w+", encoding="utf-8") as errors:
        process = subprocess.Popen(command_of(trial, launcher, ptbench), cwd=folder, env=environment,
                                   stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
        ranks = wait_until_begun(mark, trial.ranks)
        problems = [] if ranks else ["the ranks did not begin"]
        hit = "nothing"
        begin = time.monotonic()
        if ranks:
            time.sleep(trial.moment)
            who, victim = victim_of(trial, mark, ranks, process, chance)
            hit = f"rank {who}" if trial.victim == "rank" else who
            begin = time.monotonic()
            os.kill(victim, SIGNALS[trial.event])
        if trial.victim == "sweep's launcher":  # the sweep goes on with its other rows
            seconds, left = wait_until_gone_but_sweep(mark, begin, set(ranks.values()))
        else:
            seconds, left = wait_until_gone(mark, begin, GONE_WITHIN)
        if left:
            problems.append(f"{len(left)} processes left after {seconds:.1f} s")
        if trial.victim == "sweep's launcher":
            process.wait(timeout=180)
        for one in processes_of(mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        code = process.wait(timeout=30)
        errors.seek(0)
        told = errors.read()
    record = row_of_ranks(folder / "r.json")
    problems += problems_of(trial, hit, code, told, record)
    problems += [f"left {path}" for path in left_in_system() - system_before]
    return Outcome(hit, code, record["status"] if record else None, seconds, problems)


def wait_until_gone_but_sweep(mark, begin, ranks):
    """Until the ranks that lost their launcher are gone: the sweep may start others."""
    while True:
        left = ranks & set(processes_of(mark))
        seconds = time.monotonic() - begin
        if not left or seconds > GONE_WITHIN:
            return seconds, left
        time.sleep(0.02)


def report(arguments, version, launcher_version, done):
    groups = collections.defaultdict(list)
    for trial, outcome in done:
        groups[f"{trial.victim}, {trial.event}"].append(outcome)
    good = sum(not one.problems for _, one in done)
    lines = [
        "# Launched ranks, and launchers, that are killed", "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {evidence.machine()}",
        f"- {version}; {launcher_version}, `odls_base_sigkill_timeout` 2",
        f"- command: `bench/kill_launched.py -n {arguments.trials} --seed {arguments.seed} --communicator "
        f"{arguments.communicator}`",
        f"- what should be: all processes of the trial are gone within {GONE_WITHIN:g} s (of a sweep whose "
        "launcher is killed: those ranks); rank 0, unless it was hit, leaves a result that names the rank, or "
        "is `interrupted` where the launcher asked it to end first; a sweep whose launcher is killed ends "
        "with 2; nothing is left in /dev/shm and /run"
        + ("; where the launcher is killed MPI may end its ranks before they save"
           if arguments.communicator == "mpi" else ""), "",
        f"{good} of {len(done)} trials ended as they should.", "",
        *table("what was hit", groups), "",
        "| trial | ranks | hit | after | exit code | result | until all were gone | problems |",
        "|---|---|---|---|---|---|---|---|"]
    for trial, one in done:
        lines.append(f"| {trial.number} | {trial.ranks} | {one.hit}, {trial.event} | {trial.moment:.2f} s | "
                     f"{one.code} | {one.status or 'none'} | {one.seconds:.2f} s | {'; '.join(one.problems)} |")
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("--launcher", default="mpirun.openmpi", help="Open MPI's mpirun, with options")
    parser.add_argument("--communicator", default="auto", help="auto is shared memory; mpi")
    parser.add_argument("-n", "--trials", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", help="Markdown file")
    arguments = parser.parse_args()
    ptbench = str(pathlib.Path(arguments.ptbench).resolve())
    launcher = subprocess.run([arguments.launcher.split()[0], "--version"], capture_output=True, text=True, check=True)
    done = []
    # As many of each as its share of the trials, in an order drawn from the seed.
    kinds = [row[:2] for row in EVENTS for _ in range(row[2])]
    random.Random(arguments.seed).shuffle(kinds)
    with tempfile.TemporaryDirectory(prefix="kill-launched-") as root:
        for number in range(1, arguments.trials + 1):
            chance = random.Random(f"{arguments.seed}/{number}")
            victim, event = kinds[(number - 1) % len(kinds)]
            trial = Trial(number, chance.choice([2, 3]), victim, event, chance.uniform(0, 1), arguments.communicator)
            outcome = perform(trial, root, arguments.launcher, ptbench, chance)
            done.append((trial, outcome))
            print(f"{number}: {outcome.hit}, {event}: exit {outcome.code}, {outcome.status}, "
                  f"{outcome.seconds:.2f} s {'; '.join(outcome.problems)}", flush=True)
    text = report(arguments, evidence.version_of(ptbench), launcher.stdout.splitlines()[0], done)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text, encoding="utf-8")
    return 1 if any(outcome.problems for _, outcome in done) else 0


if __name__ == "__main__":
    sys.exit(main())
