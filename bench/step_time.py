#!/usr/bin/env python3
"""Measures ptbench's training step against other programs, interleaved.

    bench/step_time.py -w mlp --rounds 5 --peer 'PyTorch eager=python peers/step_time.py mlp' \\
        --peer 'prototype=./mlp 128 0' -o results/mlp-fp32.md

Runs everybody once a round, in turn, so that a machine that drifts hurts all alike; probes the
latency between the cores before each program. A peer prints a JSON line with `step_seconds`, or
text with `med X ms`. Prints (and with -o writes) a Markdown report: one row a round, medians, and
ratios to ptbench as the median of the rounds' own ratios. Only Python's standard library is used.
"""
import argparse
import datetime
import json
import os
import platform
import re
import shlex
import statistics
import subprocess
import sys

NEAR_LIMIT_NS = 80  # as src/device/core_latency.cpp has it


def run(command, environment=None):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300,
                            env={**os.environ, **(environment or {})})
    if result.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {result.returncode}:\n{result.stderr}")
    return result.stdout


def core_latency_ns(ptbench):
    """Nanoseconds between the two cores farthest apart; None with one core."""
    findings = json.loads(run([ptbench, "doctor", "--json"]))["processor"]
    seconds = next(row["value"] for row in findings if row["name"] == "core_latency_seconds")
    return None if seconds is None else 1e9 * seconds


def peer_seconds(command, threads):
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "close"}
    output = run(shlex.split(command), environment)
    for line in output.splitlines():
        if line.startswith("{"):
            return json.loads(line)["step_seconds"]
    found = re.search(r"med(?:ian)? ([0-9.]+) ms", output)
    if not found:
        sys.exit(f"no step time in the output of {command}:\n{output}")
    return float(found.group(1)) / 1e3


def ptbench_record(ptbench, workload, threads, max_time):
    # One process a round: the unit of evidence is a process.
    return json.loads(run([ptbench, "run", "-w", workload, "--threads", str(threads),
                           "--max-time", str(max_time), "--json"]))


def text(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3f} µs"


def placement(latency):
    if latency is None:
        return "one core"
    return f"{'near' if latency <= NEAR_LIMIT_NS else 'far'} ({latency:.0f} ns)"


def measure(arguments, peers):
    rounds = []
    for number in range(arguments.rounds):
        row = {"latency": [], "peers": {}}
        row["latency"].append(core_latency_ns(arguments.ptbench))
        row["record"] = ptbench_record(arguments.ptbench, arguments.workload, arguments.threads,
                                       arguments.max_time)
        for name, command in peers.items():
            row["latency"].append(core_latency_ns(arguments.ptbench))
            row["peers"][name] = peer_seconds(command, arguments.threads)
        row["latency"].append(core_latency_ns(arguments.ptbench))
        rounds.append(row)
        print(f"round {number + 1} of {arguments.rounds} done", file=sys.stderr)
    return rounds


def own(row):
    return row["record"]["runs"][0]


def worst(row):
    known = [value for value in row["latency"] if value is not None]
    return max(known) if known else None


def report(arguments, peers, rounds):
    environment = rounds[0]["record"]["environment"]
    generator = rounds[0]["record"]["generator"]
    first = own(rounds[0])
    names = list(peers)
    lines = [
        f"# Step time of `{arguments.workload}`, {first['strategy']['precision']}, "
        f"{arguments.threads} threads",
        "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {environment['cpu']['model']}, {environment['cpu']['cores']} cores, "
        f"{', '.join(environment['cpu']['isa'])}; Linux {platform.release()}",
        f"- ptbench {generator['version']}, commit {generator['git_commit']}, "
        f"{generator['build_type']}; oneDNN {environment['libraries']['onednn']}; "
        f"plan {first['strategy']['plan_hash']}",
        f"- command: `{shlex.join(sys.argv)}`",
        "- placement of a round is the worst core latency before, between and after its programs",
        "",
        "| round | placement | ptbench | of FMA peak | " + " | ".join(names) + " |",
        "|---|---|---|---|" + "---|" * len(names),
    ]
    for number, row in enumerate(rounds, 1):
        run_record = own(row)
        cells = [str(number), placement(worst(row)), text(run_record["step_seconds"]["median"]),
                 f"{100 * run_record['compute']['utilization']:.0f} %"]
        cells += [text(row["peers"][name]) for name in names]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| rounds | ptbench | of FMA peak | "
              + " | ".join(f"{name}: time, ratio to ptbench" for name in names) + " |",
              "|---|---|---|" + "---|" * len(names)]
    for label, wanted in (("near", True), ("far", False)):
        chosen = [row for row in rounds
                  if worst(row) is None or (worst(row) <= NEAR_LIMIT_NS) == wanted]
        if not chosen:
            lines.append(f"| {label}: unseen |" + " |" * (2 + len(names)))
            continue
        medians = [own(row)["step_seconds"]["median"] for row in chosen]
        shares = [own(row)["compute"]["utilization"] for row in chosen]
        cells = [f"{label}: {len(chosen)}", text(statistics.median(medians)),
                 f"{100 * statistics.median(shares):.0f} %"]
        for name in names:
            times = [row["peers"][name] for row in chosen]
            ratios = [time / median for time, median in zip(times, medians)]
            cells.append(f"{text(statistics.median(times))}, {statistics.median(ratios):.2f}×")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-w", "--workload", default="mlp")
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--max-time", type=float, default=10)
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("-o", "--output", metavar="FILE.md")
    arguments = parser.parse_args()
    peers = dict(peer.split("=", 1) for peer in arguments.peer)
    text_report = report(arguments, peers, measure(arguments, peers))
    print(text_report)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text_report)


if __name__ == "__main__":
    main()
