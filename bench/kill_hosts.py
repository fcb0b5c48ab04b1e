#!/usr/bin/env python3
"""Kills and stops ranks, and all ranks of a host, of runs on two hosts, and looks at what is left.

    sudo bench/kill_hosts.py -n 30 --seed 1 -o results/kill-hosts.md

Two hosts are network namespaces of this machine (tests/launchers/hosts.py), with two ranks each. A trial is an endless
`ptbench run` of linear or mlp, by gloo from rank to rank or by way of leaders. At a random moment (drawn from the seed) a
random rank is killed or stopped, all ranks of a host are killed, or the link is cut. Checked are the time until the
others have ended, their exit codes, that rank 0's record names the rank and its host, and that no process and no
unfinished file is left. Exit code 1 if anything is not as it should be. Needs root, and gloo's module.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "launchers"))
from hosts import Hosts, sh  # noqa: E402

TIMEOUT = 4         # --timeout of the ranks
GONE_WITHIN = 12.0  # seconds: their timeout, a second more until a hang is seen, and a busy machine
EACH = 2
EVENTS = (("a rank is killed", 4), ("a rank is stopped", 2), ("a host's ranks are killed", 2), ("the link is cut", 1))
Trial = collections.namedtuple("Trial", "number workload communicator event victims moment")


def draw(number, seed):
    chance = random.Random(f"{seed}/{number}")
    event = chance.choices([name for name, _ in EVENTS], [weight for _, weight in EVENTS])[0]
    if event == "a host's ranks are killed":
        host = chance.randrange(2)
        victims = range(host * EACH, (host + 1) * EACH)
    elif event == "the link is cut":
        victims = range(0)
    else:
        victims = [chance.randrange(2 * EACH)]
    return Trial(number, chance.choice(("linear", "mlp")), chance.choice(("gloo", "shm+gloo")), event, list(victims),
                 chance.uniform(0.2, 4))


def program_of(process):
    """The rank's own process, below what puts it on its host."""
    for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
        return int(child)
    return process.pid


def perform(hosts, trial):
    """What is wrong, and after how long all had ended."""
    path = hosts.folder / f"{trial.number}.json"
    ranks = hosts.start_ranks(EACH, "run", "-w", trial.workload, "-s", "ddp", "--threads", "1", "--steps", "1000000000",
                              "--communicator", trial.communicator, "--timeout", TIMEOUT, "-o", path)
    time.sleep(trial.moment)
    begin = time.monotonic()
    if trial.event == "the link is cut":
        hosts.cut(1)
    for victim in trial.victims:
        os.kill(program_of(ranks[victim]), signal.SIGSTOP if "stopped" in trial.event else signal.SIGKILL)
    others = [rank for number, rank in enumerate(ranks) if number not in trial.victims]
    problems = []
    for rank in others:
        left = begin + GONE_WITHIN - time.monotonic()
        try:
            rank.wait(max(left, 0.1))
        except subprocess.TimeoutExpired:
            problems.append(f"rank {ranks.index(rank)} goes on")
    took = time.monotonic() - begin
    for victim in trial.victims:
        ranks[victim].kill()
    for rank in ranks:
        rank.kill()
        rank.communicate()
    hosts.running.clear()
    if trial.event == "the link is cut":
        sh("ip", "link", "set", f"{hosts.tag}v1", "up")
    problems += [f"rank {number} ended with {rank.returncode}" for number, rank in enumerate(ranks)
                 if rank in others and rank.returncode != 2]
    if 0 not in trial.victims and path.exists():
        run, = json.loads(path.read_text())["runs"]
        wanted = [f"rank {victim}" for victim in trial.victims] or ["rank 2", "rank 3"]
        if run["status"] != "failed" or not any(name in (run["reason"] or "") for name in wanted):
            problems.append(f"the record says {run['status']}: {run['reason']}")
        elif "beta" not in run["reason"] and any(victim >= EACH for victim in trial.victims):
            problems.append(f"the host is not named: {run['reason']}")
    left = subprocess.run(["pgrep", "-f", str(path)], capture_output=True, text=True, check=False).stdout.split()
    if left:
        problems.append(f"processes are left: {' '.join(left)}")
    if list(hosts.folder.glob("*partial*")) and 0 not in trial.victims:
        problems.append("an unfinished file is left")
    return problems, took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default=str(ROOT / "build/release/ptbench"))
    parser.add_argument("-n", "--trials", type=int, default=30)
    parser.add_argument("--seed", default="1")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    ptbench = pathlib.Path(arguments.ptbench).resolve()
    done = []
    with tempfile.TemporaryDirectory(prefix="hosts-") as folder, Hosts(2, folder, ptbench) as hosts:
        for number in range(1, arguments.trials + 1):
            trial = draw(number, arguments.seed)
            done.append((trial, *perform(hosts, trial)))
            print(number, trial.event, *done[-1][1:], file=sys.stderr, flush=True)
    version = evidence.version_of(ptbench)
    good = sum(not problems for _, problems, _ in done)
    lines = ["# Ranks and hosts that are killed, stopped and cut off", "",
             f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
             f"- {version}",
             "- hosts: two network namespaces of one machine, two ranks each",
             f"- command: `bench/kill_hosts.py -n {arguments.trials} --seed {arguments.seed}`; `--timeout {TIMEOUT}`",
             f"- what should be: all other ranks have ended with exit code 2 within {GONE_WITHIN:g} s, rank 0's record names "
             "the rank and its host, nothing is left", "",
             f"{good} of {len(done)} trials ended as they should.", "",
             "| what happened | trials | as they should | worst time until all had ended |", "|---|---|---|---|"]
    for event, _ in EVENTS:
        of_event = [(problems, took) for trial, problems, took in done if trial.event == event]
        if of_event:
            lines.append(f"| {event} | {len(of_event)} | {sum(not problems for problems, _ in of_event)} | "
                         f"{max(took for _, took in of_event):.1f} s |")
    lines += ["", "| trial | run | what happened | after | until all had ended | problems |", "|---|---|---|---|---|---|"]
    for trial, problems, took in done:
        victims = ", ".join(f"rank {victim}" for victim in trial.victims)
        lines.append(f"| {trial.number} | {trial.workload}, {trial.communicator} | {trial.event}{': ' if victims else ''}"
                     f"{victims} | {trial.moment:.1f} s | {took:.1f} s | {'; '.join(problems)} |")
    text = "\n".join(lines) + "\n"
    evidence.publish(text, arguments.output)
    return int(good < len(done))


if __name__ == "__main__":
    sys.exit(main())
