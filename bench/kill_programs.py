#!/usr/bin/env python3
"""Kills, stops and interrupts programs under `ptbench run --program`, and looks at what is left.

    bench/kill_programs.py -n 40 --torchrun build/peers/venv/bin/torchrun -o results/kill-programs.md

A trial is a run of two ranks that torchrun (without --torchrun: a shell) starts. Once the ranks have begun,
at a random moment (drawn from the seed) one process is hit: a rank, their launcher, or the process that the
user started; "ctrl-c" goes to that one's process group, as a terminal sends it. Checked are the time until all
processes are gone, exit code, the result file and the reason in it, which names the rank that was hit. Exit
code 1 if anything is not as it should be. Only Python's standard library is used.
"""
import argparse
import collections
import contextlib
import datetime
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import evidence
from kill_ranks import left_in_system, processes_of, record_in, table, unlike, wait_until_gone

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARK = "PTBENCH_PROGRAM_TRIAL"
GONE_WITHIN = 10.0  # seconds after a death or a request, on a busy machine
TIMEOUT = 4.0       # --timeout, from which silence is an error
BEGIN_WITHIN = 120.0
STOPPED = 1.0       # seconds, of ptbench
# What is hit, how, and how often.
EVENTS = [("rank", "kill", 8), ("rank", "stop", 5), ("launcher", "kill", 5), ("launcher", "stop", 3),
          ("launcher", "int", 2), ("launcher", "hup", 2), ("ptbench", "kill", 4), ("ptbench", "ctrl-c", 4),
          ("ptbench", "hup", 4), ("ptbench", "term", 1), ("ptbench", "stop", 2)]
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM, "int": signal.SIGINT,
           "ctrl-c": signal.SIGINT, "hup": signal.SIGHUP}
LOOP = """
import pathlib, sys, time
import ptbench
for step in ptbench.steps(samples=1):
    if step.number == 2:
        pathlib.Path(f"begun.{ptbench._world.place()[0]}").touch()
    time.sleep(0.005)
"""
# Ends as its first rank that fails.
SHELL = "for rank in 0 1; do RANK=$rank WORLD_SIZE=2 {} loop.py & done; wait -n && wait"

Trial = collections.namedtuple("Trial", "number victim event moment")
Outcome = collections.namedtuple("Outcome", "code status reason seconds problems")


def role_of(process, arguments, user):
    if process == user:
        return "ptbench"
    if any(os.path.basename(text) == "torchrun" for text in arguments):
        return "launcher"
    if "loop.py" in arguments:
        return "rank"
    return "launcher" if any("loop.py &" in text for text in arguments) and "bash" in arguments[0] else "other"


def expected(trial, rank=None):
    """Exit code, status and the pattern of the reason; None where there is none. `rank`: which was hit."""
    if trial.victim == "ptbench":
        ends = {"kill": (-signal.SIGKILL, None, None), "stop": (0, "ok", None)}
        return ends.get(trial.event, (130, "interrupted", "stopped by a signal"))
    if trial.victim == "launcher" and trial.event == "stop":
        return 0, "ok", None  # its ranks go on; that it does not end is a warning
    if trial.event == "stop":
        return 2, "failed", rf"rank {rank} of the program has reported nothing for 4 s"
    if trial.victim == "rank":
        return 2, "failed", rf"the program .*, and rank {rank} closed its connection first"
    return 2, "failed", r"the program (was killed by signal|ended with exit code)"


def begin_run(trial, folder, arguments):
    (folder / "loop.py").write_text(LOOP)
    name = f"{os.getpid()}-{trial.number}"
    shell = f"exec bash -c {shlex.quote(SHELL.format(sys.executable))}"
    program = f"exec {arguments.torchrun} --nproc-per-node 2 loop.py" if arguments.torchrun else shell
    goes_on = expected(trial)[0] == 0
    command = [arguments.ptbench, "run", "--program", program, "--name", "loop", "-o", "r.json", "--repeats", "1",
               "--timeout", str(TIMEOUT), *(["--max-time", "6"] if goes_on else ["--steps", "1000000"])]
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, MARK: name}, stdout=subprocess.DEVNULL,
                               stderr=open(folder / "errors", "w", encoding="utf-8"), start_new_session=True)
    return f"{MARK}={name}".encode(), process


def wait_until_begun(folder, process):
    end = time.monotonic() + BEGIN_WITHIN
    while time.monotonic() < end and process.poll() is None:
        if len(list(folder.glob("begun.*"))) == 2:
            return True
        time.sleep(0.02)
    return False


def rank_of(process):
    """What its environment says; None where it says nothing."""
    variables = pathlib.Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
    return next((int(text[5:]) for text in variables if text.startswith(b"RANK=")), None)


def hit(trial, mark, process, chance):
    """Whether anybody was there to be hit, and which rank that was."""
    known = processes_of(mark)
    suitable = [one for one, arguments in sorted(known.items())
                if role_of(one, arguments, process.pid) == trial.victim]
    if not suitable:
        return False, None
    victim = chance.choice(suitable)
    rank = rank_of(victim) if trial.victim == "rank" else None
    (os.killpg if trial.event == "ctrl-c" else os.kill)(victim, SIGNALS[trial.event])
    if (trial.victim, trial.event) == ("ptbench", "stop"):
        time.sleep(STOPPED)
        os.kill(victim, signal.SIGCONT)
    return True, rank


def perform(trial, root, arguments, chance):
    folder = pathlib.Path(root) / str(trial.number)
    folder.mkdir()
    before = left_in_system()
    mark, process = begin_run(trial, folder, arguments)
    problems, rank = [], None
    if wait_until_begun(folder, process):
        time.sleep(trial.moment)
        was_hit, rank = hit(trial, mark, process, chance)
        if not was_hit:
            problems.append(f"there was no {trial.victim}")
    else:
        problems.append("the ranks did not begin")
    begin = time.monotonic()
    limit = GONE_WITHIN + (TIMEOUT + 2 if trial.event == "stop" else 0) + (30 if expected(trial)[0] == 0 else 0)
    seconds, left = wait_until_gone(mark, begin, limit)
    for one in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    code = process.wait(timeout=30)
    record = record_in(folder)
    problems += unlike(expected(trial, rank), code, (folder / "errors").read_text(encoding="utf-8"), record)
    problems += [f"{len(left)} processes left after {seconds:.1f} s"] if left else []
    problems += [f"left {path}" for path in left_in_system() - before]
    return Outcome(code, record and record["status"], (record and record["reason"]) or "", seconds, problems)


def cell(text):
    """In a table, without where this tree lies."""
    return " ".join(text.replace("|", " ").replace(f"{ROOT}/", "").split())


def report(arguments, done):
    groups = collections.defaultdict(list)
    for trial, outcome in done:
        groups[f"{trial.victim}, {trial.event}"].append(outcome)
    lines = [
        "# Programs under ptbench that are killed, stopped and interrupted", "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {evidence.machine()}",
        f"- {evidence.version_of(arguments.ptbench)}",
        f"- command: `bench/kill_programs.py {shlex.join(sys.argv[1:])}`",
        f"- the launcher is {'torchrun' if arguments.torchrun else 'a shell'}",
        f"- `--timeout {TIMEOUT:g}`; \"stop\" is for good, but for ptbench, which goes on after {STOPPED:g} s",
        f"- what should be: all processes are gone within {GONE_WITHIN:g} s, after a stop {TIMEOUT + 2:g} s later "
        "(ptbench or the launcher stopped: once the run has ended, ok); the exit code, the result file and its reason "
        "say what happened; nothing is left in /dev/shm and /run", "",
        f"{sum(not one.problems for _, one in done)} of {len(done)} trials ended as they should.", "",
        *table("what was hit", groups), "",
        "| trial | hit | after | exit code | result | until all were gone | reason | problems |",
        "|---|---|---|---|---|---|---|---|"]
    for trial, one in done:
        lines.append(f"| {trial.number} | {trial.victim}, {trial.event} | {trial.moment:.2f} s | {one.code} | "
                     f"{one.status or 'none'} | {one.seconds:.2f} s | {cell(one.reason)[:160]} | "
                     f"{cell('; '.join(one.problems))} |")
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("--torchrun", help="of an environment with PyTorch")
    parser.add_argument("-n", "--trials", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", help="Markdown file")
    arguments = parser.parse_args()
    arguments.ptbench = str(pathlib.Path(arguments.ptbench).resolve())
    if arguments.torchrun:
        arguments.torchrun = os.path.abspath(arguments.torchrun)
    # As a terminal does it, whatever this script was started by.
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)
    kinds = [row[:2] for row in EVENTS for _ in range(row[2])]
    random.Random(arguments.seed).shuffle(kinds)
    done = []
    with tempfile.TemporaryDirectory(prefix="kill-programs-") as root:
        for number in range(1, arguments.trials + 1):
            chance = random.Random(f"{arguments.seed}/{number}")
            trial = Trial(number, *kinds[(number - 1) % len(kinds)], chance.uniform(0, 2))
            done.append((trial, perform(trial, root, arguments, chance)))
            text = report(arguments, done)
            print(text.splitlines()[-1], file=sys.stderr, flush=True)
            if arguments.output:
                pathlib.Path(arguments.output).write_text(text, encoding="utf-8")
    return 1 if any(outcome.problems for _, outcome in done) else 0


if __name__ == "__main__":
    sys.exit(main())
