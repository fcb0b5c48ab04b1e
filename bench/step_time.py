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


def peer_result(command, threads):
    """Step seconds, and peak memory in bytes or None."""
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "close"}
    output = run(shlex.split(command), environment)
    for line in output.splitlines():
        if line.startswith("{"):
            result = json.loads(line)
            return result["step_seconds"], result.get("peak_memory_bytes")
    found = re.search(r"med(?:ian)? ([0-9.]+) ms", output)
    if not found:
        sys.exit(f"no step time in the output of {command}:\n{output}")
    return float(found.group(1)) / 1e3, None


def ptbench_record(arguments):
    # One process a round: the unit of evidence is a process.
    return json.loads(run([arguments.ptbench, "run", "-w", arguments.workload, "--threads",
                           str(arguments.threads), "--precision", arguments.precision,
                           "--verify", "off", "--repeats", "1", "--max-time", str(arguments.max_time),
                           "--json", *shlex.split(arguments.options)]))


def text(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3f} µs"


def placement(ends):
    """Where the cores were while a program ran, by the latency (ns) before and after it."""
    if None in ends:
        return "near"  # one core is never far from itself
    near = [latency <= NEAR_LIMIT_NS for latency in ends]
    return "near" if all(near) else "mixed" if any(near) else "far"


def measure(arguments, peers):
    """One dictionary a round: program -> (step seconds, placement), program -> peak memory, and
    ptbench's record."""
    programs = ["ptbench", *peers]
    rounds = []
    for number in range(arguments.rounds):
        times, memory, record = {}, {}, None
        latency = [core_latency_ns(arguments.ptbench)]
        for name in programs:
            if name == "ptbench":
                record = ptbench_record(arguments)
                times[name] = record["runs"][0]["step_seconds"]["median"]
                memory[name] = record["runs"][0]["memory"]["peak_bytes"]
            else:
                times[name], memory[name] = peer_result(peers[name], arguments.threads)
            latency.append(core_latency_ns(arguments.ptbench))
        rounds.append({"record": record, "memory": memory,
                       "programs": {name: (times[name], placement(latency[at:at + 2]))
                                    for at, name in enumerate(programs)}})
        print(f"round {number + 1} of {arguments.rounds} done", file=sys.stderr)
    return rounds


def utilization(row):
    return row["record"]["runs"][0]["compute"]["utilization"]


def summary(rounds, names, wanted):
    """One row: medians of the rounds in which a program, and ptbench beside it, was placed so."""
    own = [row for row in rounds if row["programs"]["ptbench"][1] == wanted]
    if not own:
        return f"| {wanted} | unseen |" + " |" * (1 + len(names))
    cells = [wanted,
             text(statistics.median(row["programs"]["ptbench"][0] for row in own)),
             f"{100 * statistics.median(map(utilization, own)):.0f} %"]
    for name in names:
        pairs = [(row["programs"][name][0], row["programs"]["ptbench"][0]) for row in own
                 if row["programs"][name][1] == wanted]
        if not pairs:
            cells.append("unseen")
            continue
        ratio = statistics.median(peer / ours for peer, ours in pairs)
        cells.append(f"{text(statistics.median(peer for peer, _ in pairs))}, {ratio:.2f}× "
                     f"({len(pairs)} rounds)")
    return "| " + " | ".join(cells) + " |"


def memory_line(rounds, names):
    own = max(row["memory"]["ptbench"] for row in rounds)
    parts = [f"ptbench {own / 2**20:.0f} MiB"]
    for name in names:
        peaks = [row["memory"][name] for row in rounds if row["memory"][name]]
        if peaks:
            parts.append(f"{name} {max(peaks) / 2**20:.0f} MiB (ptbench takes "
                         f"{own / max(peaks):.2f} of it)")
    return "Peak memory, largest of all rounds: " + ", ".join(parts) + "."


def report(arguments, peers, rounds):
    environment = rounds[0]["record"]["environment"]
    generator = rounds[0]["record"]["generator"]
    strategy = rounds[0]["record"]["runs"][0]["strategy"]
    names = list(peers)
    lines = [
        f"# Step time of `{arguments.workload}`, {strategy['precision']}, "
        f"threads: {arguments.threads}",
        "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- machine: {environment['cpu']['model']}, {environment['cpu']['cores']} cores, "
        f"{', '.join(environment['cpu']['isa'])}; Linux {platform.release().split('-')[0]}",
        f"- ptbench {generator['version']}, commit {generator['git_commit']}, "
        f"{generator['build_type']}; oneDNN {environment['libraries']['onednn']}; "
        f"plan {strategy['plan_hash']}",
        f"- command: `{shlex.join(sys.argv)}`",
        f"- near, far, mixed: the latency between the cores before and after the program was at "
        f"most {NEAR_LIMIT_NS} ns at both, neither, or one of the ends",
        "",
        "| round | ptbench | of FMA peak | " + " | ".join(names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for number, row in enumerate(rounds, 1):
        cells = [f"{text(seconds)} {where}" for seconds, where in row["programs"].values()]
        cells.insert(1, f"{100 * utilization(row):.0f} %")
        lines.append(f"| {number} | " + " | ".join(cells) + " |")
    lines += ["", "Medians, and the median over rounds of the ratio of a program's time to "
              "ptbench's, both placed alike:", "",
              "| placement | ptbench | of FMA peak | " + " | ".join(names) + " |",
              "|---|---|---|" + "---|" * len(names)]
    lines += [summary(rounds, names, wanted) for wanted in ("near", "far")]
    lines += ["", memory_line(rounds, names), ""]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("-w", "--workload", default="mlp")
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--options", default="", help="more options of `ptbench run`")
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
