#!/usr/bin/env python3
"""Kills, stops and interrupts processes of runs of several ranks, and looks at what is left.

    bench/kill_ranks.py -n 50 --seed 1 -o results/kill-ranks.md
    scripts/emulate-gpu --devices 3 bench/kill_ranks.py --device cuda --ptbench build/ci/ptbench

A trial is a `ptbench run` of linear or mlp on 2 or 3 ranks in processes of their own: the user's
process starts one a repetition, which starts the ranks. At a random moment (drawn from the seed) a
random one of them is hit by a random event: killed, stopped (ranks for good, the others for a
second), or asked to end; or the whole process group is, as Ctrl-C in a terminal does. Checked are
the time until all processes are gone, the exit code, the message, the result file, and what is left
in /dev/shm, /run, the temporary folder and the working directory. With --device cuda each rank has a
GPU of its own. Exit code 1 if anything is not as
it should be. Only Python's standard library is used.
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

MARK = "PTBENCH_KILL_TRIAL"
GONE_WITHIN = 5.0   # seconds after a death, or after the deadline of a rank that is stopped
SAVED_WITHIN = 15.0  # seconds after a request to end
TIMEOUT = 1.0       # --timeout of the ranks
STOPPED = 0.5       # seconds, for others than ranks
# What is hit, how, and how often.
EVENTS = [("rank", "kill", 10), ("rank", "stop", 4), ("rank", "term", 2),
          ("repetition", "kill", 3), ("repetition", "stop", 1), ("repetition", "term", 2),
          ("user", "kill", 3), ("user", "stop", 1), ("user", "term", 1), ("user", "int", 1),
          ("group", "int", 3), ("group", "term", 1), ("group", "stop", 1)]
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM,
           "int": signal.SIGINT}

Trial = collections.namedtuple("Trial", "number workload ranks fixed cached victim event moment")
Outcome = collections.namedtuple("Outcome", "phase result seconds problems")


def read(path):
    with contextlib.suppress(OSError):
        return pathlib.Path(path).read_bytes()
    return b""


def is_alive(process):
    """Neither gone nor a zombie."""
    stat = read(f"/proc/{process}/stat").rpartition(b")")[2].split()
    return bool(stat) and stat[0] not in (b"Z", b"X")


def processes_of(mark):
    """Of one trial: the ids and their arguments."""
    found = {}
    for folder in os.listdir("/proc"):
        if folder.isdigit() and mark in read(f"/proc/{folder}/environ").split(b"\0"):
            found[int(folder)] = read(f"/proc/{folder}/cmdline").decode().split("\0")
    return found


def role_of(arguments):
    if any(text.startswith("--rank=") for text in arguments):
        return "rank"
    return "repetition" if any(text.startswith("--pass=") for text in arguments) else "user"


def pass_of(arguments):
    """What a session's process is there for."""
    names = {"prepare": "preparation", "first": "first repetition", "next": "later repetition"}
    for text in arguments:
        if text.startswith("--pass="):
            return names[text.partition("=")[2]]
    return "run of fixed length"


class Scene:
    """A folder for all trials, whose temporary folder and plan cache outlive each of them."""

    def __init__(self, root, ptbench, device, communicator):
        self.root = pathlib.Path(root)
        self.ptbench = ptbench
        self.device = device
        self.communicator = communicator
        for name in ("tmp", "cache"):
            (self.root / name).mkdir()

    def start(self, trial):
        folder = self.root / str(trial.number)
        folder.mkdir()
        mark = f"{MARK}={os.getpid()}-{trial.number}"
        cache = self.root / "cache" if trial.cached else folder / "cache"
        environment = {**os.environ, "TMPDIR": str(self.root / "tmp"), "XDG_CACHE_HOME": str(cache),
                       **dict([mark.split("=")])}
        command = [self.ptbench, "run", "-w", trial.workload, "-s", "ddp", "-n", str(trial.ranks),
                   "-b", "32", "--threads", "1", "--timeout", str(TIMEOUT), "-o", "r.json",
                   *(["--communicator", self.communicator] if self.communicator else []), *self.length_of(trial)]
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True, start_new_session=True)
        return folder, mark.encode(), process

    def length_of(self, trial):
        if self.device == "cuda":  # may be emulated: slow, and nothing to measure
            return ["--device", "cuda", "--steps", "200", *([] if trial.fixed else ["--repeats", "2"])]
        if trial.fixed:
            return ["--steps", "20000" if trial.workload == "linear" else "200"]
        return ["--max-time", "4", "--repeats", "2"]

    def left_in_temporary_folder(self):
        return sorted(path.name for path in (self.root / "tmp").iterdir())


def left_in_system():
    return {path for folder in ("/dev/shm", "/run")
            for path in pathlib.Path(folder).glob("*ptbench*")}


def choose_victim(trial, mark, process, chance):
    """Once the moment has come: an id and its arguments; None where the run ended before."""
    time.sleep(trial.moment)
    role = "user" if trial.victim == "group" else trial.victim
    while process.poll() is None:
        known = processes_of(mark)
        suitable = [one for one in sorted(known) if role_of(known[one]) == role]
        if role == "user" and process.pid in known:
            others = [text for text in known.values() if role_of(text) == "repetition"]
            return process.pid, known[process.pid] if trial.fixed or not others else others[0]
        if suitable and role != "user":
            one = chance.choice(suitable)
            return one, known[one]
    return None


def hit(trial, victim):
    """Whether it was still there."""
    if not is_alive(victim):
        return False
    with contextlib.suppress(ProcessLookupError):
        if trial.victim == "group":
            os.killpg(victim, SIGNALS[trial.event])
        else:
            os.kill(victim, SIGNALS[trial.event])
        if trial.event == "stop" and trial.victim != "rank":
            time.sleep(STOPPED)
            (os.killpg if trial.victim == "group" else os.kill)(victim, signal.SIGCONT)
        return True
    return False


def wait_until_gone(mark, begin, limit):
    """Seconds since `begin`, and who is left after the limit."""
    while True:
        left = processes_of(mark)
        seconds = time.monotonic() - begin
        if not left or seconds > limit:
            return seconds, left
        time.sleep(0.02)


def expected(trial):
    """Exit code, status, and the pattern of the reason; None where there is none."""
    one = r"rank \d+ on \S+, while [a-z ]+"
    if trial.event in ("term", "int"):
        return 130, "interrupted", "stopped by a signal"
    if trial.event == "stop" and trial.victim != "rank":
        return 0, "ok", None
    if trial.victim == "user":
        return -9, None, None
    if trial.victim == "repetition":
        return 2, "failed", r"(repetition \d+|the preparation) was killed by signal 9"
    if trial.event == "stop":
        return 2, "failed", one + r", (is stopped|made no progress within 1 s: it is stopped)"
    return 2, "failed", one + ", was killed by signal 9"


def unlike(wanted, code, errors, record):
    """How an end differs from exit code, status and pattern of the reason; None where any will do."""
    wanted_code, status, reason = wanted
    found = []
    if code != wanted_code:
        found.append(f"exit code {code}, not {wanted_code}: {' '.join(errors.split())[-300:]}")
    if status and not record:
        found.append("no result file")
    if status and record and record["status"] != status:
        found.append(f"status {record['status']}, not {status}: {record['reason']}")
    if reason and record and not re.search(reason, record["reason"] or ""):
        found.append(f"reason {record['reason']}")
    return found


def problems_of(trial, folder, code, errors, record):
    """Of a run that was hit: how its end differs from what it should be."""
    found = unlike(expected(trial), code, errors, record)
    if errors.count("error:") > 1:
        found.append("more than one error is told")
    if trial.victim != "user" or trial.event != "kill":
        found += [f"left {path.name}" for path in folder.iterdir() if "partial" in path.name]
    return found


def record_in(folder):
    text = read(folder / "r.json")
    return json.loads(text)["runs"][0] if text else None


def phase_of(record, arguments):
    match = re.search(r"while ([a-z ]+)", (record or {}).get("reason") or "")
    return match.group(1) if match else pass_of(arguments)


def too_early_or_late(code, record, seconds):
    """A request to end that came before anybody listened, or after all was done."""
    if code in (-signal.SIGINT, -signal.SIGTERM):
        return seconds < 0.5 or record is not None
    return code == 0 and record is not None and record["status"] == "ok"


def perform(scene, trial, chance):
    """None where the run ended before it was hit."""
    left_before, system_before = scene.left_in_temporary_folder(), left_in_system()
    folder, mark, process = scene.start(trial)
    started = time.monotonic()
    chosen = choose_victim(trial, mark, process, chance)
    begin = time.monotonic()
    if chosen is None or not hit(trial, chosen[0]):
        process.communicate()
        return None
    is_stop = trial.event == "stop"
    limit = SAVED_WITHIN if trial.event in ("term", "int") else GONE_WITHIN
    limit += TIMEOUT if is_stop and trial.victim == "rank" else 60 if is_stop else 0
    seconds, left = wait_until_gone(mark, begin, limit)
    for one in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(one, signal.SIGKILL)
    errors = process.communicate()[1]
    code, record = process.returncode, record_in(folder)
    phase = phase_of(record, chosen[1])
    late = too_early_or_late(code, record, begin - started) and expected(trial)[0] != 0
    problems = [] if late else problems_of(trial, folder, code, errors, record)
    problems += [f"{len(left)} processes left after {seconds:.1f} s"] if left else []
    problems += [f"left {path}" for path in left_in_system() - system_before]
    remains = set(scene.left_in_temporary_folder())
    # Runs of fixed length have no temporary folder to look for.
    if remains & set(left_before) and not trial.fixed:
        problems.append("what a killed run left was not removed by the next")
    if remains - set(left_before) and (trial.victim, trial.event) != ("user", "kill"):
        problems.append(f"left {', '.join(sorted(remains))} in the temporary folder")
    status = f", {record['status']}" if record else ""
    result = "ended anyway" if late else f"exit {code}{status}"
    goes_on = is_stop and trial.victim != "rank"
    return Outcome(phase, result, None if late or goes_on else seconds, problems)


def draw(number, chance):
    victim, event = chance.choices([row[:2] for row in EVENTS], [row[2] for row in EVENTS])[0]
    # A run of fixed length starts its ranks itself.
    fixed = victim != "repetition" and chance.random() < 0.3
    return Trial(number, chance.choice(["linear", "mlp"]), chance.choice([2, 3]), fixed,
                 chance.random() < 0.7, victim, event, chance.uniform(0, 2 if fixed else 4))


def table(name, groups):
    lines = [f"| {name} | trials | ended as they should | worst time until all were gone |",
             "|---|---|---|---|"]
    for key in sorted(groups):
        outcomes = groups[key]
        times = [one.seconds for one in outcomes if one.seconds is not None]
        worst = f"{max(times):.2f} s" if times else ""
        lines.append(f"| {key} | {len(outcomes)} | {sum(not one.problems for one in outcomes)} | "
                     f"{worst} |")
    return lines


def report(arguments, version, done):
    def grouped(key):
        groups = collections.defaultdict(list)
        for trial, outcome in done:
            groups[key(trial, outcome)].append(outcome)
        return groups

    deaths = [one.seconds for trial, one in done
              if trial.event == "kill" and one.seconds is not None]
    lines = [
        "# Ranks that are killed, stopped and interrupted", "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {evidence.machine()}",
        f"- {version}",
        f"- command: `bench/kill_ranks.py -n {arguments.trials} --seed {arguments.seed}"
        + (f" --device {arguments.device}" if arguments.device != "cpu" else "")
        + (f" --communicator {arguments.communicator}`" if arguments.communicator else "`"),
        f"- `--timeout {TIMEOUT:g}`; \"stop\" is for good for ranks, for {STOPPED:g} s for others",
        "- what should be: after a death all processes are gone within "
        f"{GONE_WITHIN:g} s, after a stop within {GONE_WITHIN:g} s more than `--timeout`; the "
        "result file, the exit code and the reason say what happened; nothing is left, but by a "
        "user's process that is killed: its unfinished result file, and its temporary folder, "
        "which the next run of several repetitions removes", "",
        f"{sum(not one.problems for _, one in done)} of {len(done)} trials ended as they should."
        + (f" After a kill all processes were gone within {max(deaths):.2f} s." if deaths else ""),
        "",
        *table("what was hit", grouped(lambda trial, _: f"{trial.victim}, {trial.event}")), "",
        *table("phase", grouped(lambda _, outcome: outcome.phase)), "",
        "| trial | run | hit | after | phase | end | until all were gone | problems |",
        "|---|---|---|---|---|---|---|---|"]
    for trial, one in done:
        kind = f"{trial.workload}, {trial.ranks} ranks" + (", `--steps`" if trial.fixed else "")
        seconds = "" if one.seconds is None else f"{one.seconds:.2f} s"
        lines.append(f"| {trial.number} | {kind} | {trial.victim}, {trial.event} | "
                     f"{trial.moment:.2f} s | {one.phase} | {one.result} | {seconds} | "
                     f"{'; '.join(one.problems)} |")
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("-n", "--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--communicator", help="another than the usual one")
    parser.add_argument("-o", "--output", help="Markdown file")
    arguments = parser.parse_args()

    # As a terminal does it, whatever this script was started by.
    for one in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(one) == signal.SIG_IGN:
            signal.signal(one, signal.SIG_DFL)
    ptbench = str(pathlib.Path(arguments.ptbench).resolve())
    version = evidence.version_of(ptbench)
    done, number = [], 0
    with tempfile.TemporaryDirectory(prefix="kill-ranks-") as root:
        scene = Scene(root, ptbench, arguments.device, arguments.communicator)
        while len(done) < arguments.trials:
            number += 1
            # Of its own, so that a trial is the same whatever became of those before it.
            chance = random.Random(f"{arguments.seed}/{number}")
            trial = draw(number, chance)
            outcome = perform(scene, trial, chance)
            if outcome is None:
                continue
            done.append((trial, outcome))
            text = report(arguments, version, done)
            print(text.splitlines()[-1], file=sys.stderr, flush=True)
            if arguments.output:
                pathlib.Path(arguments.output).write_text(text)
    if not arguments.output:
        print(text)
    sys.exit(any(outcome.problems for _, outcome in done))


if __name__ == "__main__":
    main()
