#!/usr/bin/env python3
"""Measures ptbench's training step against other programs, interleaved.

    bench/step_time.py -w mlp --rounds 5 --torch venv/bin/python -o results/mlp-fp32.md
    bench/step_time.py -w mlp --rounds 5 --peer 'prototype=./mlp 128 0'

Runs everybody once a round, in turn, so that a machine that drifts hurts all alike; probes the
latency between the cores before each program. --torch adds PyTorch eager and compiled
(peers/step_time.py). A peer prints a JSON line with `step_seconds`, and `clean_slices` and
`memory_increase_bytes` where it knows them, or text with `med X ms`. Prints (and with -o writes) a
Markdown report: one row a round, and by placement of the cores, near or far, never both, medians and
ratios to ptbench as the geometric mean of the rounds' own with its 95 % interval. Rounds in which a
program had no clean slice are left out of these; builds that are dirty, or of several commits, are
refused. Only Python's standard library is used.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import statistics
import subprocess
import sys

import evidence

PEER = pathlib.Path(__file__).resolve().parent.parent / "peers" / "step_time.py"
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
    environment = {"OMP_NUM_THREADS": str(threads), "OMP_PROC_BIND": "close"}
    output = run(shlex.split(command), environment)
    for line in output.splitlines():
        if line.startswith("{"):
            result = json.loads(line)
            return {"seconds": result["step_seconds"], "clean": result.get("clean_slices") != 0,
                    "memory": result.get("memory_increase_bytes")}
    found = re.search(r"med(?:ian)? ([0-9.]+) ms", output)
    if not found:
        sys.exit(f"no step time in the output of {command}:\n{output}")
    return {"seconds": float(found.group(1)) / 1e3, "clean": True, "memory": None}


def own_result(record):
    """Memory is what came on top of program and data, as for the peers."""
    one = record["runs"][0]
    return {"seconds": one["step_seconds"]["median"],
            "clean": bool(one["samples"]["repetitions"][0]["clean_slices"]),
            "memory": one["memory"]["peak_bytes"] - one["memory"]["before_bytes"]}


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
    """One dictionary a round: program -> its result and placement, and ptbench's record."""
    programs = ["ptbench", *peers]
    rounds = []
    for number in range(arguments.rounds):
        results, record = {}, None
        latency = [core_latency_ns(arguments.ptbench)]
        for name in programs:
            if name == "ptbench":
                record = ptbench_record(arguments)
                results[name] = own_result(record)
            else:
                results[name] = peer_result(peers[name], arguments.threads)
            latency.append(core_latency_ns(arguments.ptbench))
        for at, name in enumerate(programs):
            results[name]["placement"] = placement(latency[at:at + 2])
        rounds.append({"record": record, "programs": results})
        print(f"round {number + 1} of {arguments.rounds} done", file=sys.stderr)
    return rounds


def utilization(row):
    """Of the operations that the kernels execute, and of all that the model has: Winograd's
    filtering executes fewer."""
    compute = row["record"]["runs"][0]["compute"]
    return compute["utilization"], compute["effective_utilization"]


def percent(shares):
    return " / ".join(f"{100 * share:.0f} %" for share in shares)


def counting(rounds, name, wanted):
    """The rounds in which a program was placed so, and clean."""
    return [row for row in rounds if row["programs"][name]["clean"]
            and row["programs"][name]["placement"] == wanted]


def ratio_cell(ratios):
    found = evidence.ratio(ratios)
    if found.low is None:
        return f"no interval ({found.count} rounds)"
    return f"{found.middle:.2f}× [{found.low:.2f}, {found.high:.2f}] ({found.count} rounds)"


def summary(rounds, names, wanted):
    """One row: of the rounds in which a program, and ptbench beside it, was placed so."""
    own = counting(rounds, "ptbench", wanted)
    if not own:
        return f"| {wanted} | unseen |" + " |" * (1 + len(names))
    shares = zip(*map(utilization, own))
    cells = [wanted, text(statistics.median(row["programs"]["ptbench"]["seconds"] for row in own)),
             percent(map(statistics.median, shares))]
    for name in names:
        both = counting(own, name, wanted)
        if not both:
            cells.append("unseen")
            continue
        times = [row["programs"][name]["seconds"] for row in both]
        ratios = [row["programs"][name]["seconds"] / row["programs"]["ptbench"]["seconds"]
                  for row in both]
        cells.append(f"{text(statistics.median(times))}, {ratio_cell(ratios)}")
    return "| " + " | ".join(cells) + " |"


def memory_line(rounds, names):
    def largest(name):
        return max((row["programs"][name]["memory"] or 0 for row in rounds), default=0)

    own = largest("ptbench")
    parts = [f"ptbench {own / 2**20:.0f} MiB"]
    parts += [f"{name} {largest(name) / 2**20:.0f} MiB (ptbench takes {own / largest(name):.2f} of "
              "it)" for name in names if largest(name)]
    return ("Peak memory beyond start-up and imports, largest of all rounds: " + ", ".join(parts)
            + ".")


def report(arguments, peers, rounds):
    evidence.require_origin_or_exit([row["record"]["generator"] for row in rounds])
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
        "- of FMA peak: as executed / of all operations, which Winograd's filtering saves some of",
        "",
        "| round | ptbench | of FMA peak | " + " | ".join(names) + " |",
        "|---|---|---|" + "---|" * len(names),
    ]
    for number, row in enumerate(rounds, 1):
        cells = [f"{text(one['seconds'])} {one['placement']}{'' if one['clean'] else ', unclean'}"
                 for one in row["programs"].values()]
        cells.insert(1, percent(utilization(row)))
        lines.append(f"| {number} | " + " | ".join(cells) + " |")
    lines += ["", "Medians, and the geometric mean over rounds of the ratio of a program's time to "
              "ptbench's, both clean and placed alike, [95 % interval]:", "",
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
    parser.add_argument("--torch", metavar="PYTHON", help="a Python that has PyTorch; else without")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("-o", "--output", metavar="FILE.md")
    arguments = parser.parse_args()
    peers = dict(peer.split("=", 1) for peer in arguments.peer)
    if arguments.torch:
        command = shlex.join([*shlex.split(arguments.torch), str(PEER), arguments.workload,
                              "--precision", arguments.precision, "--threads",
                              str(arguments.threads), "--seconds", "2"])
        peers = {"PyTorch eager": command, "PyTorch compiled": f"{command} --compile", **peers}
    text_report = report(arguments, peers, measure(arguments, peers))
    print(text_report)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as file:
            file.write(text_report)


if __name__ == "__main__":
    main()
