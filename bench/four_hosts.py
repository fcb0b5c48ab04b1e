#!/usr/bin/env python3
"""What 1, 2 and 4 hosts make of a training, and what they do when one of them is cut off.

    sudo bench/four_hosts.py --rounds 5 -o results/four-hosts.md

Hosts are network namespaces of this machine (tests/launchers/hosts.py), on a bridge that is as fast as it is. Each
round measures the step of `mlp` under ddp on 2 and on 4 hosts, for each launcher, 1 and 2 ranks a host, by way of
leaders and plain, every run verified; beside them one host alone, and as many hosts at once of which each trains for
itself. Since hosts share this machine's cores, the latter says what 4 hosts could reach here at best. Then the link of
each of the 4 hosts is cut once for each communicator. Exit code 1: a run that was cut did not end as it should. Needs
root, gloo's module, and mpirun for its rows.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "launchers"))
from hosts import LAUNCHERS, Absent, Hosts, check_record, wait_until_met  # noqa: E402

HOSTS = 4
TIMEOUT = 4         # --timeout of the ranks that are cut off
GONE_WITHIN = 12.0  # seconds: three quarters of it, a second more until a hang is seen, and a busy machine
TRAINING = ("run", "-w", "mlp", "-b", "32", "--threads", "1", "--warmup", "5", "--steps", "40")

Row = collections.namedtuple("Row", "hosts each launcher communicator")
Cut = collections.namedtuple("Cut", "host each communicator problems took")


def rows_of(launchers):
    rows = []
    for count in (2, 4):
        for launcher in launchers:
            plain = launcher.communicator.removeprefix("shm+")
            for each, communicator in ((1, launcher.communicator), (2, launcher.communicator), (2, plain)):
                rows.append(Row(count, each, launcher, communicator))
    return rows


def require_ended(hosts, processes):
    for code, _, errors in hosts.finish(processes):
        if code != 0:
            raise RuntimeError(errors)
    hosts.running.clear()


def step_of(path):
    run, = json.loads(path.read_text())["runs"]
    return run["step_seconds"]["median"]


def together(hosts, row):
    """Seconds of a step."""
    path = hosts.folder / "together.json"
    require_ended(hosts, row.launcher.start(hosts.first(row.hosts), row.each, *TRAINING, "-s", "ddp", "--communicator",
                                            row.communicator, "-o", path))
    check_record(path, row.each, row.hosts, row.communicator)
    return step_of(path)


def apart(hosts, count, each):
    """Seconds of a step of hosts that train at once, each for itself, with `each` ranks of its own."""
    paths = [hosts.folder / f"apart{host}.json" for host in range(count)]
    require_ended(hosts, [hosts.start_program(host, {}, hosts.ptbench, *TRAINING, "-s", "ddp", "-n", each, "--repeats",
                                              1, "-o", paths[host]) for host in range(count)])
    return statistics.median(step_of(path) for path in paths)


def cut_off(hosts, host, each, communicator):
    """What is wrong, and after how long all had ended."""
    path = hosts.folder / "cut.json"
    ranks = hosts.start_ranks(each, *TRAINING[:-1], "1000000000", "-s", "ddp", "--communicator", communicator,
                              "--verify", "off", "--timeout", TIMEOUT, "-o", path)
    wait_until_met(ranks[0], hosts)
    time.sleep(2)
    begin = time.monotonic()
    hosts.cut(host)
    problems = []
    for number, rank in enumerate(ranks):
        try:
            rank.wait(max(0.1, begin + GONE_WITHIN - time.monotonic()))
        except subprocess.TimeoutExpired:
            problems.append(f"rank {number} goes on")
            rank.kill()
    took = time.monotonic() - begin
    results = hosts.finish(ranks)
    hosts.running.clear()
    hosts.mend(host)
    problems += [f"rank {number} ended with {code}" for number, (code, _, _) in enumerate(results) if code != 2]
    name = hosts.names[host]
    for number, (_, _, errors) in enumerate(results):
        # Rank 0 has said so in its record.
        if number != 0 and number // each != host and f"on {name}" not in errors:
            problems.append(f"rank {number} does not name {name}: {errors.strip().splitlines()[-1:]}")
    run, = json.loads(path.read_text())["runs"]
    if run["status"] != "failed" or (host != 0 and f"on {name}" not in run["reason"]):
        problems.append(f"the record says {run['status']}: {run['reason']}")
    return problems, took


def ratio_text(ratios):
    found = evidence.ratio(ratios)
    return f"{found.middle:.2f}" + (f" [{found.low:.2f}, {found.high:.2f}]" if found.low is not None else "")


def scaling_lines(rows, steps, own):
    lines = ["| hosts | ranks a host | launcher | communicator | step | throughput over one host's [95 %] | "
             "over that of hosts for themselves [95 %] |", "|---" * 7 + "|"]
    for each in (1, 2):
        for count in (1, 2, 4):
            alone = f"{1e3 * statistics.median(own[count, each]):.1f} ms"
            gain = ratio_text([count * one / now for one, now in zip(own[1, each], own[count, each])])
            who = "one host" if count == 1 else "for themselves"
            lines.append(f"| {count} | {each} | {who} | {'shm' if each > 1 else 'none'} | {alone} | {gain} | |")
        for row in rows:
            if row.each != each:
                continue
            gain = ratio_text([row.hosts * one / now for one, now in zip(own[1, each], steps[row])])
            share = ratio_text([one / now for one, now in zip(own[row.hosts, each], steps[row])])
            lines.append(f"| {row.hosts} | {each} | {row.launcher.name} | {row.communicator} | "
                         f"{1e3 * statistics.median(steps[row]):.1f} ms | {gain} | {share} |")
    return lines


def report(arguments, version, scaling, cuts):
    good = sum(not cut.problems for cut in cuts)
    lines = ["# Four hosts", "",
             f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
             f"- {version}",
             f"- machine: {len(os.sched_getaffinity(0))} cores; hosts are network namespaces of it with host names of "
             "their own, on one bridge, which share its cores; each places its ranks from the first core on, so that "
             "hosts of one rank share one",
             f"- command: `bench/four_hosts.py --rounds {arguments.rounds}`; `ptbench {' '.join(TRAINING)} -s ddp`",
             "- every run of several hosts was verified; throughput is samples a second, by medians of steps, ratios "
             "are of one round; \"for themselves\": as many hosts at once, each of which trains alone, so that they "
             "share cores as the others do and send nothing", "", "## Scaling", "", *scaling, "",
             "## A host is cut off", "",
             f"- `--timeout {TIMEOUT}`; the link goes down 2 s after all have met; all ranks are to end with exit code "
             f"2 within {GONE_WITHIN:g} s, those of other hosts are to name the host, rank 0 in its record, where "
             "it is not its own", "", f"{good} of {len(cuts)} runs ended as they should.", "",
             "| host that is cut off | ranks a host | communicator | until all had ended | problems |",
             "|---" * 5 + "|"]
    for cut in cuts:
        lines.append(f"| {Hosts.names[cut.host]} | {cut.each} | {cut.communicator} | {cut.took:.1f} s | "
                     f"{'; '.join(cut.problems)} |")
    return "\n".join(lines) + "\n", good == len(cuts)


def measure(hosts, arguments, rows):
    steps, own, cuts = collections.defaultdict(list), collections.defaultdict(list), []
    for number in range(arguments.rounds):
        for each in (1, 2):
            for count in (1, 2, 4):
                own[count, each].append(apart(hosts, count, each))
        for row in rows:
            steps[row].append(together(hosts, row))
            print(f"round {number + 1}: {row.hosts} hosts, {row.each} a host, {row.launcher.name}, "
                  f"{row.communicator}: {1e3 * steps[row][-1]:.1f} ms", file=sys.stderr, flush=True)
    for each, communicator in ((1, "shm+gloo"), (2, "shm+gloo"), (2, "gloo")):
        for host in range(HOSTS):
            cuts.append(Cut(host, each, communicator, *cut_off(hosts, host, each, communicator)))
            print(*cuts[-1], file=sys.stderr, flush=True)
    return scaling_lines(rows, steps, own), cuts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default=str(ROOT / "build/release/ptbench"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--launchers", default=",".join(launcher.name for launcher in LAUNCHERS))
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    ptbench = pathlib.Path(arguments.ptbench).resolve()
    rows = rows_of([launcher for launcher in LAUNCHERS if launcher.name in arguments.launchers.split(",")])
    try:
        with tempfile.TemporaryDirectory(prefix="hosts-") as folder, Hosts(HOSTS, folder, ptbench) as hosts:
            scaling, cuts = measure(hosts, arguments, rows)
    except Absent as reason:
        print(f"nothing was measured: {reason}", file=sys.stderr)
        return 1
    version = evidence.version_of(ptbench)
    text, good = report(arguments, version, scaling, cuts)
    evidence.publish(text, arguments.output)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
