#!/usr/bin/env python3
"""Measures what two ranks of one thread cost and gain.

    bench/ddp_scaling.py --only mlp-fp32 --append-json ddp.json -o ddp.md
    bench/ddp_scaling.py --only resnet18-bf16 --rounds 6 --one-rank-rounds 0 --append-json ddp.json
    bench/ddp_scaling.py --rounds 0 --one-rank-rounds 0 --append-json ddp.json -o ddp.md

Each round runs, in turn and forwards or backwards, serial training, `ddp` on one rank, and the data-
parallel strategies on two: each a fresh process or pair, all of a case with one plan. PyTorch beside
them is measured by bench/native_and_pytorch.py. The Markdown report has medians by placement
of the cores, ratios with 95 % intervals over the rounds of one placement, and phases. --append-json
keeps the numbers, round by round as they come, and the next call adds to them: of one clean Release
build. Only Python's standard library is used.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile

import evidence

NEAR_LIMIT_NS = 80  # as src/device/core_latency.cpp has it
ONE_RANK_LIMIT = 1.01  # what `ddp` on one rank may take, in units of serial
PLAN_ATTEMPTS = 3
DISTURBED_PLAN = "operators-chosen-under-load"
SCHEMA = "ptbench.ddp_scaling/3"
ONE_CORE = "one core"
SERIAL = "serial"
ONE_RANK = "ddp n=1"
DP = "dp n=2"
STRATEGIES = {SERIAL: ("serial", 1), ONE_RANK: ("ddp", 1), "ddp n=2": ("ddp", 2),
              DP: ("dp", 2), "ddp-flat n=2": ("ddp-flat", 2),
              "ddp-central n=2": ("ddp-central", 2)}
PARALLEL = [name for name, (_, replicas) in STRATEGIES.items() if replicas > 1]


@dataclasses.dataclass(frozen=True)
class Case:
    workload: str
    precision: str
    batch: int  # samples of one replica
    programs: tuple = tuple(STRATEGIES)

    @property
    def name(self):
        return f"{self.workload}-{self.precision}-b{self.batch}"


WEAK_ONLY = (SERIAL, "ddp n=2", DP)
CASES = [
    Case("mlp", "fp32", 64), Case("mlp", "fp32", 128, WEAK_ONLY),
    Case("mlp", "bf16", 64), Case("mlp", "bf16", 128, WEAK_ONLY),
    Case("resnet18", "fp32", 32), Case("resnet18", "bf16", 32),
    Case("linear", "fp32", 32),
]


# Measuring


def run(command, environment=None):
    result = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False,
                            env={**os.environ, **(environment or {})})
    if result.returncode != 0:
        sys.exit(f"{shlex.join(map(str, command))} ended with {result.returncode}:\n"
                 f"{result.stderr}")
    return result.stdout


def core_latency_ns(ptbench):
    """Nanoseconds between the two cores farthest apart; None with one core."""
    findings = json.loads(run([ptbench, "doctor", "--json"]))["processor"]
    seconds = next(row["value"] for row in findings if row["name"] == "core_latency_seconds")
    return None if seconds is None else 1e9 * seconds


def placement(ends):
    """Where the cores were while a program ran, by the latency (ns) before and after it."""
    if None in ends:
        return ONE_CORE
    near = [latency <= NEAR_LIMIT_NS for latency in ends]
    return "near" if all(near) else "mixed" if any(near) else "far"


def now():
    return f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M}"


def strategies_of(ptbench):
    return {line.split()[0] for line in run([ptbench, "list", "strategies"]).splitlines() if line}


class Bench:
    """Runs programs and adds what they say to `results`, which are saved after each round."""

    def __init__(self, arguments, results, folder):
        self.arguments = arguments
        self.results = results
        self.folder = pathlib.Path(folder)
        self.known = strategies_of(arguments.ptbench)

    def measure(self, case):
        entry = self.results["cases"].setdefault(case.name, {"plan": None, "rounds": []})
        names = [name for name in case.programs if self.can_run(name)]
        pair = [name for name in names if name in (SERIAL, ONE_RANK)]
        one_rank_rounds = self.arguments.one_rank_rounds if len(pair) == 2 else 0
        count = max(self.arguments.rounds, one_rank_rounds)
        if count > 0 and entry["plan"] is None and self.can_run(DP):
            self.ptbench_step(case, entry, DP)  # it has all operators of the others, and one more
        for number in range(count):
            chosen = names if number < self.arguments.rounds else pair
            # In either order as often, so that being second is nobody's lot.
            entry["rounds"].append(self.round(case, entry, chosen[::-1 if number % 2 else 1]))
            save(self.arguments.append_json, self.results)
            print(f"{case.name}: round {number + 1} of {count} done", file=sys.stderr)

    def can_run(self, name):
        return STRATEGIES[name][0] in self.known

    def round(self, case, entry, names):
        programs = {}
        latency = [core_latency_ns(self.arguments.ptbench)]
        for name in names:
            programs[name] = self.ptbench_step(case, entry, name)
            latency.append(core_latency_ns(self.arguments.ptbench))
            programs[name]["core_latency_ns"] = latency[-2:]
            if programs[name]["placement"] is None:
                programs[name]["placement"] = placement(latency[-2:])
        return {"when": now(), "programs": programs}

    def ptbench_step(self, case, entry, name):
        """One repetition, with the case's plan; the first makes it, again where it was disturbed."""
        plan, step = self.repetition(case, entry["plan"], name)
        for _ in range(PLAN_ATTEMPTS - 1):
            if DISTURBED_PLAN not in step["warnings"]:
                break
            print(f"{case.name}: operators were chosen under load; once more", file=sys.stderr)
            plan, step = self.repetition(case, entry["plan"], name)
        entry["plan"] = plan
        return step

    def repetition(self, case, known_plan, name):
        strategy, replicas = STRATEGIES[name]
        plan, target = self.folder / "plan.json", self.folder / "result.json"
        plan.unlink(missing_ok=True)
        if known_plan:
            plan.write_text(json.dumps(known_plan), encoding="utf-8")
        run([self.arguments.ptbench, "run", "-w", case.workload, "-s", strategy, "-n",
             str(replicas), "--threads", "1", "-b", str(case.batch), "--precision", case.precision,
             "--repeats", "1", "--max-time", str(self.arguments.max_time), "--verify", "off",
             "--plan", plan, "-o", target, *shlex.split(self.arguments.options)])
        record = json.loads(target.read_text(encoding="utf-8"))
        note_origin(self.results, record)
        return (json.loads(plan.read_text(encoding="utf-8")),
                step_of(record["runs"][0], replicas))


def step_of(run_record, replicas):
    """What the report needs of one repetition."""
    repetition = run_record["samples"]["repetitions"][0]
    foreign = [one["foreign_cpu_fraction"] for one in run_record["samples"]["slices"]
               if one["foreign_cpu_fraction"] is not None]
    return {
        "step_seconds": repetition["median_seconds"],
        "placement": ONE_CORE if replicas == 1 else repetition["placement"],
        "clean": bool(repetition["clean_slices"]),
        "foreign_cpu_fraction": statistics.median(foreign) if foreign else None,
        "phases_seconds": run_record["phases_seconds"],
        "strategy": run_record["strategy"],
        "warnings": [warning["code"] for warning in run_record["warnings"]],
    }


# Keeping


def note_origin(results, record):
    environment, generator = record["environment"], record["generator"]
    machine = {"cpu": environment["cpu"], "libraries": environment["libraries"],
               "kernel": platform.release().split("-")[0]}
    if results["machine"] not in (None, machine):
        sys.exit("the numbers in --append-json were measured on another machine")
    results["machine"] = machine
    if generator not in results["generators"]:
        results["generators"].append(generator)
    evidence.require_origin_or_exit(results["generators"])


def load(path):
    if not path or not os.path.exists(path):
        return {"schema": SCHEMA, "machine": None, "generators": [], "options": [], "cases": {}}
    results = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    if results.get("schema") != SCHEMA:
        sys.exit(f"{path} is not of schema {SCHEMA}")
    return results


def save(path, results):
    if path:
        partial = f"{path}.partial"
        pathlib.Path(partial).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
        os.replace(partial, path)


# Reporting


def together(one, other):
    """The placement that two measurements speak for, None where they are placed differently."""
    places = {one["placement"], other["placement"]} - {ONE_CORE}
    return None if len(places) > 1 else next(iter(places), ONE_CORE)


class Rounds:
    """The rounds of a case, and what they say of its programs."""

    def __init__(self, rounds):
        self.rounds = rounds

    def names(self):
        ran = {name for row in self.rounds for name in row["programs"]}
        return [name for name in STRATEGIES if name in ran]

    def of(self, name):
        steps = [row["programs"][name] for row in self.rounds if name in row["programs"]]
        return [step for step in steps if step["clean"]]

    def places(self):
        seen = {step["placement"] for name in self.names() for step in self.of(name)}
        return [place for place in (ONE_CORE, "near", "far", "mixed") if place in seen]

    def ratios(self, top, bottom):
        """(placement, ratio of step times) of each round in which both were placed alike."""
        found = []
        for row in self.rounds:
            if top not in row["programs"] or bottom not in row["programs"]:
                continue
            above, below = row["programs"][top], row["programs"][bottom]
            place = together(above, below)
            if place and above["clean"] and below["clean"]:
                found.append((place, above["step_seconds"] / below["step_seconds"]))
        return found


def text(seconds):
    return f"{seconds * 1e3:.3f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3f} µs"


def ratio_cell(ratios, digits=3):
    if not ratios:
        return "–"
    found = evidence.ratio(ratios)
    ends = "" if found.low is None else f" [{found.low:.{digits}f}, {found.high:.{digits}f}]"
    return f"{found.middle:.{digits}f}{ends} ({found.count})"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def medians_table(rounds):
    def cell(name, place):
        times = [step["step_seconds"] for step in rounds.of(name) if step["placement"] == place]
        return f"{text(statistics.median(times))} ({len(times)})" if times else ""

    places = rounds.places()
    return ["Median step (rounds):", "",
            *table(["program", *places],
                   [[name, *(cell(name, place) for place in places)] for name in rounds.names()])]


def figures_of(names):
    """(figure, numerator, denominator) of the ratios that can be had."""
    here = [name for name in PARALLEL if name in names]
    wanted = [(f"weak efficiency of {name}", SERIAL, name) for name in here]
    wanted += [(f"{name} / ddp n=2", name, "ddp n=2") for name in here if name != "ddp n=2"]
    wanted += [(f"{ONE_RANK} / {SERIAL}", ONE_RANK, SERIAL)]
    return [row for row in wanted if {row[1], row[2]} <= set(names)]


def ratios_table(rounds):
    """By placement: near and far cores are different machines, and no ratio is of both."""
    rows = []
    for figure, top, bottom in figures_of(rounds.names()):
        found = rounds.ratios(top, bottom)
        rows.append([figure, *(ratio_cell([ratio for place, ratio in found if place == wanted])
                               for wanted in (ONE_CORE, "near", "far"))])
    return ["Ratios of step times within a round, both placed alike, [95 % interval] (rounds):", "",
            *table(["figure", ONE_CORE, "near", "far"], rows)]


def one_rank_verdict(rounds):
    """Whether `ddp` on one rank is shown to cost no more than it may."""
    ratios = [ratio for _, ratio in rounds.ratios(ONE_RANK, SERIAL)]
    if not ratios:
        return []
    found = evidence.ratio(ratios)
    if found.low is None:
        return [f"`ddp` on one rank: {found.count} rounds tell no interval.", ""]
    if evidence.is_within(found, ONE_RANK_LIMIT):
        verdict = f"that is within {ONE_RANK_LIMIT} × serial"
    elif found.low > ONE_RANK_LIMIT:
        verdict = f"that is more than {ONE_RANK_LIMIT} × serial"
    else:
        verdict = f"whether that is within {ONE_RANK_LIMIT} × serial is open"
    return [f"`ddp` on one rank takes {found.middle:.4f} × serial, 95 % interval "
            f"[{found.low:.4f}, {found.high:.4f}] over {found.count} rounds: {verdict}.", ""]


def phases_table(rounds):
    rows = []
    for name in rounds.names():
        for place in rounds.places():
            phases = [step["phases_seconds"] for step in rounds.of(name)
                      if step["placement"] == place and step.get("phases_seconds")]
            if phases:
                rows.append((name, place, phases))
    everything = [one for _, _, phases in rows for one in phases]
    if not everything:
        return []
    keys = [key for key in everything[0] if any(one[key] is not None for one in everything)]

    def cell(phases, key):
        values = [one[key] for one in phases if one[key] is not None]
        return text(statistics.median(values)) if values else ""

    return ["Phases of a step, medians over rounds:", "",
            *table(["program", "placement", *(key.replace("_", " ") for key in keys)],
                   [[name, place, *(cell(phases, key) for key in keys)]
                    for name, place, phases in rows])]


def rounds_table(rounds):
    def cell(row, name):
        if name not in row["programs"]:
            return ""
        step = row["programs"][name]
        place = "" if step["placement"] == ONE_CORE else f" {step['placement']}"
        return text(step["step_seconds"]) + place + ("" if step["clean"] else ", unclean")

    names = rounds.names()
    return ["Round by round:", "",
            *table(["round", "UTC", *names],
                   [[str(number), row["when"], *(cell(row, name) for name in names)]
                    for number, row in enumerate(rounds.rounds, 1)])]


def settings(rounds):
    """What ran: plans, buckets, and warnings that make figures doubtful."""
    steps = [(name, step) for row in rounds.rounds for name, step in row["programs"].items()]
    plans = sorted({step["strategy"]["plan_hash"] or "none" for _, step in steps
                    if "strategy" in step})
    lines = [f"- plan {', '.join(plans)}"]
    for name, step in dict(steps).items():
        if name in PARALLEL and step["strategy"]["bucket_bytes"] is not None:
            overlap = "on" if step["strategy"]["overlap"] else "off"
            lines.append(f"- {name}: buckets of {step['strategy']['bucket_bytes'] / 2**20:g} MiB, "
                         f"overlap {overlap}")
    codes = [code for _, step in steps for code in step.get("warnings", [])]
    if codes:
        counts = ", ".join(f"{code} {codes.count(code)}×" for code in sorted(set(codes)))
        lines.append(f"- warnings in {sum('strategy' in step for _, step in steps)} records: {counts}")
    unclean = sum(not step["clean"] for _, step in steps)
    if unclean:
        lines.append(f"- {unclean} measurements without a clean slice, left out")
    return [*lines, ""]


def case_report(name, entry):
    case = next(case for case in CASES if case.name == name)
    rounds = Rounds(entry["rounds"])
    return [f"## `{case.workload}`, {case.precision}, {case.batch} samples a replica", "",
            *settings(rounds), *medians_table(rounds), *ratios_table(rounds),
            *one_rank_verdict(rounds), *phases_table(rounds), *rounds_table(rounds)]


def report(results):
    evidence.require_origin_or_exit(results["generators"])
    cases = {case.name: results["cases"][case.name] for case in CASES
             if results["cases"].get(case.name, {}).get("rounds")}
    if not cases:
        sys.exit("nothing was measured")
    days = sorted(row["when"] for entry in cases.values() for row in entry["rounds"])
    cpu = results["machine"]["cpu"]
    builds = ", ".join(f"{one['version']} commit {one['git_commit']} {one['build_type']}"
                       for one in results["generators"])
    lines = [
        "# Two ranks of one thread, beside serial training", "",
        f"- date: {days[0]} to {days[-1]} UTC",
        f"- machine: {cpu['model']}, {cpu['cores']} cores, {', '.join(cpu['isa'])}; "
        f"Linux {results['machine']['kernel']}",
        f"- ptbench {builds}; oneDNN {results['machine']['libraries'].get('onednn')}",
        *(f"- command: `bench/ddp_scaling.py {options}`" for options in results["options"]),
        "- a round runs every program once, each in fresh processes of one thread a replica; the "
        "order turns from round to round",
        f"- near, far, mixed: where the cores were, as ptbench's record has it, else by the latency "
        f"between them before and after the program (near: at most {NEAR_LIMIT_NS} ns)",
        "- a ratio is the geometric mean over rounds in which both were placed alike, with Student's "
        "95 % interval of the logarithms",
        "- weak efficiency: serial step over the strategy's step, with as many samples a replica", "",
    ]
    for name, entry in cases.items():
        lines += case_report(name, entry)
    return "\n".join(lines).rstrip() + "\n"


def options_text(arguments):
    """The options that decide what is measured; none that names a file."""
    parts = [f"--only {arguments.only}" if arguments.only else "",
             f"--rounds {arguments.rounds} --one-rank-rounds {arguments.one_rank_rounds} "
             f"--max-time {arguments.max_time:g}",
             f"--options {shlex.quote(arguments.options)}" if arguments.options else ""]
    return " ".join(part for part in parts if part)


def chosen_cases(only):
    if not only:
        return CASES
    wanted = only.split(",")
    for name in wanted:
        if not any(f"{case.name}-".startswith(f"{name}-") for case in CASES):
            sys.exit(f"no case begins with '{name}'; there are "
                     f"{', '.join(case.name for case in CASES)}")
    return [case for case in CASES
            if any(f"{case.name}-".startswith(f"{name}-") for name in wanted)]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="CASE,…", help="cases, or beginnings of their names: "
                        + ", ".join(case.name for case in CASES))
    parser.add_argument("--ptbench", default="build/release/ptbench")
    parser.add_argument("--options", default="", help="more options of `ptbench run`")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--one-rank-rounds", type=int, default=20,
                        help="rounds of serial and ddp n=1, those of --rounds included")
    parser.add_argument("--max-time", type=float, default=4, help="seconds of one measurement")
    parser.add_argument("--append-json", metavar="FILE.json", help="numbers to add to and to report")
    parser.add_argument("-o", "--output", metavar="FILE.md")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    cases = chosen_cases(arguments.only)
    results = load(arguments.append_json)
    if max(arguments.rounds, arguments.one_rank_rounds) > 0:
        if options_text(arguments) not in results["options"]:
            results["options"].append(options_text(arguments))
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(arguments, results, folder)
            for case in cases:
                bench.measure(case)
    text_report = report(results)
    print(text_report)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text_report, encoding="utf-8")


if __name__ == "__main__":
    main()
