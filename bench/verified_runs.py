#!/usr/bin/env python3
"""Runs many trainings that are right, and counts how many verification calls wrong.

    bench/verified_runs.py --runs 1000 --seed 1 -o results/verified-runs.md

Each run is a `ptbench run` with options drawn from the seed: workload, strategy, ranks, precision,
batch, accumulation, shares, optimizer, rate, decay, initial weights, shuffling, seed; half of them beside a busy process. Most end
after verification; every tenth trains some timed steps, after which ranks are compared again. A
correct build must call none of them wrong. Beside the counts stands the exact (Clopper-Pearson)
upper end of the rate, and how near to its bound the worst run came. Exit code 1 if any run failed.
Only Python's standard library is used.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Workload, how many of a thousand runs, micro-batches to draw from, has batch norm.
WORKLOADS = [("linear", 180, (8, 32, 100), False),
             ("mlp", 330, (4, 16, 32), False),
             ("digits", 250, (), False),
             ("models/cnn.json", 160, (4, 8, 16), True),
             ("resnet18", 58, (2, 4), True),
             ("resnet50", 22, (1,), True)]
# Workload: a file with weights that were trained, in the working directory of the runs.
TRAINED = {name: f"trained-{name}.safetensors" for name in ("linear", "mlp")}
BUSY = "while True: pass"

Run = collections.namedtuple("Run", "group arguments load timed")
Outcome = collections.namedtuple("Outcome", "run status share reason")


def ranks_of(draw, group):
    return 2 if group in ("resnet18", "resnet50") else draw.choice((2, 2, 3, 4))


def accumulation_of(draw, group):
    """Micro-batches of a step: many where they are small."""
    if group == "digits":  # 120 samples in a step
        return draw.choice(("2", "5"))
    if group in ("linear", "mlp"):
        return draw.choice(("2", "2", "3", "8", "16", "64"))
    return "2"


def parallel(draw, group, arguments):
    """Strategy over several ranks; half of all runs and more."""
    strategy = draw.choice(("ddp", "ddp", "ddp-flat", "ddp-central", "dp"))
    arguments += ["-s", strategy, "-n", str(ranks_of(draw, group))]
    if draw.random() < 0.3:
        arguments += ["--accumulate", accumulation_of(draw, group)]
    elif strategy != "dp" and group in ("linear", "mlp") and draw.random() < 0.15:
        arguments += ["--shares", "+".join(str(draw.randint(1, 24)) for _ in range(int(arguments[-1])))]
    if draw.random() < 0.25:
        arguments += ["--precision", "bf16"]
    if strategy != "dp" and draw.random() < 0.15:
        arguments += ["--reduce-precision", "bf16"]
    if strategy != "dp" and draw.random() < 0.15:
        arguments += ["--broadcast-buffers", "off"]


def single(draw, group, has_batch_norm, arguments):
    """One rank: accumulation against the unsplit batch, or bf16 against fp32."""
    if has_batch_norm or draw.random() < 0.5:
        arguments += ["-s", "amp"]
        if draw.random() < 0.3 and not has_batch_norm:
            arguments += ["--accumulate", accumulation_of(draw, group)]
    else:
        arguments += ["-s", "grad-accum", "--accumulate", accumulation_of(draw, group)]


def draw_of(draw, number, group, batches, has_batch_norm):
    arguments = ["-w", "mlp" if group == "digits" else group, "--threads", "1"]
    if draw.random() < (0.6 if group != "resnet50" else 0.8):
        parallel(draw, group, arguments)
    else:
        single(draw, group, has_batch_norm, arguments)
    if group == "digits":
        arguments += ["--data", "tests/data/digits", "--global-batch", "120"]
    elif "--shares" not in arguments:
        arguments += ["-b", str(draw.choice(batches))]
    if group in ("resnet18", "resnet50"):
        arguments += ["--samples", "32"]
    if draw.random() < 0.4:
        arguments += ["--optimizer", draw.choice(("sgd", "adam", "adamw"))]
    if "adamw" in arguments or draw.random() < 0.1:
        arguments += ["--weight-decay", draw.choice(("0.001", "0.01", "0.1"))]
    if group in TRAINED and draw.random() < 0.15:
        arguments += ["--initial-weights", TRAINED[group]]
    if draw.random() < 0.5:
        arguments += ["--lr", draw.choice(("1e-5", "1e-3", "0.01", "0.05"))]
    if draw.random() < 0.1 and group != "resnet50":
        arguments += ["--loss-scale", draw.choice(("dynamic", "1024"))]
    arguments += ["--shuffle", draw.choice(("on", "off")), "--seed", str(draw.randrange(10**6))]
    timed = number % 10 == 9 and group != "resnet50"
    arguments += ["--steps", "6", "--warmup", "0"] if timed else ["--verify", "only"]
    return Run(group, arguments, draw.random() < 0.5, timed)


def draw_runs(count, seed):
    """Exact shares of the workloads, in random order."""
    draw = random.Random(seed)
    runs = []
    for row in WORKLOADS:
        share = max(1, round(count * row[1] / 1000))
        runs += [draw_of(draw, i, row[0], row[2], row[3]) for i in range(share)]
    draw.shuffle(runs)
    return runs


def perform(ptbench, run, folder):
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    busy = subprocess.Popen([sys.executable, "-c", BUSY]) if run.load else None
    try:
        arguments = [folder / word if word in TRAINED.values() else word for word in run.arguments]
        done = subprocess.run([ptbench, "run", *arguments, "-o", result], cwd=ROOT,
                              env=environment(folder), capture_output=True, text=True, timeout=900)
        code, errors = done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        code, errors = None, "took over 15 minutes"
    finally:
        if busy:
            busy.kill()
            busy.wait()
    if not result.exists():
        return Outcome(run, "error", None, f"exit code {code}: {errors.strip()[-300:]}"), None
    file = json.loads(result.read_text())
    record = file["runs"][0]
    verification = record["verification"]
    error, tolerance = verification["max_relative_error"], verification["tolerance"]
    share = error / tolerance if error is not None and tolerance else None
    status = "failed" if record["status"] == "failed" else verification["status"]
    return Outcome(run, status, share, record["reason"] or verification["reason"]), file


def environment(folder):
    return {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}


def train_weights(ptbench, folder):
    """Those that some runs begin with: losses are small there, and so are updates."""
    for name, file in TRAINED.items():
        subprocess.run([ptbench, "run", "-w", name, "-b", "64", "--threads", "1", "--steps", "300",
                        "--verify", "off", "--save-final-weights", folder / file], cwd=ROOT, check=True,
                       env=environment(folder), stdout=subprocess.DEVNULL)


def upper_rate(failures, runs):
    """Clopper and Pearson's one-sided 95 % bound of a rate, by bisection."""
    def at_most(rate):
        term = (1 - rate) ** runs
        total = term
        for k in range(failures):
            term *= (runs - k) / (k + 1) * rate / (1 - rate)
            total += term
        return total
    low, high = 0.0, 1.0
    while high - low > 1e-7:
        middle = (low + high) / 2
        low, high = (middle, high) if at_most(middle) > 0.05 else (low, middle)
    return high


def kinds(run):
    """What a run counts as, besides all runs."""
    text = " ".join(run.arguments)
    yield "several ranks or replicas" if "-n " in text else "one rank"
    yield "bf16" if "--precision bf16" in text or "-s amp" in text else "fp32"
    if "--reduce-precision bf16" in text:
        yield "bf16 on the wire"
    if "--accumulate" in text:
        yield "accumulation"
    if "--shares" in text:
        yield "unequal shares"
    if "--initial-weights" in text:
        yield "trained weights"
    if run.group in ("models/cnn.json", "resnet18", "resnet50"):
        yield "batch norm"
    yield "beside a busy process" if run.load else "alone"
    if run.timed:
        yield "with timed steps"
    yield "workload " + run.group


def table(outcomes):
    rows = collections.defaultdict(list)
    for outcome in outcomes:
        for kind in ("all", *kinds(outcome.run)):
            rows[kind].append(outcome)
    lines = ["| runs | count | passed | weak | not run | called wrong | rate below | worst share of a bound |",
             "|---|---|---|---|---|---|---|---|"]
    for kind, of_kind in sorted(rows.items(), key=lambda row: (row[0] != "all", row[0])):
        count = collections.Counter(outcome.status for outcome in of_kind)
        wrong = count["failed"] + count["error"]
        shares = [outcome.share for outcome in of_kind if outcome.share is not None]
        lines.append(f"| {kind} | {len(of_kind)} | {count['passed']} | {count['weak']} | "
                     f"{count['not_run']} | {wrong} | {100 * upper_rate(wrong, len(of_kind)):.2f} % | "
                     f"{max(shares, default=0):.2f} |")
    return lines


def calibration(outcomes):
    """How the shares of their bounds lie that correct runs reach against other arithmetic."""
    lines = ["| compared with | runs | median share | 95 % below | largest |", "|---|---|---|---|---|"]
    for name, wanted in (("the same arithmetic", True), ("an unsplit batch or fp32", False)):
        shares = sorted(o.share for o in outcomes if o.share is not None and
                        ("-n" in o.run.arguments) == wanted)
        if shares:
            lines.append(f"| {name} | {len(shares)} | {shares[len(shares) // 2]:.3f} | "
                         f"{shares[int(0.95 * len(shares))]:.3f} | {shares[-1]:.3f} |")
    return lines


def report(outcomes, file, arguments):
    generator, environment_of_run = file["generator"], file["environment"]
    lines = ["# Correct runs, and how many verification calls wrong", "",
             f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
             f"- machine: {environment_of_run['cpu']['model']}, {environment_of_run['cpu']['cores']} cores",
             f"- ptbench {generator['version']} (commit {generator['git_commit']}, {generator['build_type']})",
             f"- command: `{shlex.join(arguments)}`", "",
             f"{len(outcomes)} runs. A rate is below its figure with 95 % confidence (Clopper and Pearson).", "",
             *table(outcomes), "", "Shares of their bounds that differences reached:", "",
             *calibration(outcomes)]
    wrong = [outcome for outcome in outcomes if outcome.status in ("failed", "error")]
    weak = collections.Counter((outcome.run.group, outcome.reason) for outcome in outcomes
                               if outcome.status == "weak")
    if wrong:
        lines += ["", "## Called wrong", ""]
        lines += [f"- `{shlex.join(o.run.arguments)}`: {o.reason}" for o in wrong]
    if weak:
        lines += ["", "## Weak", ""]
        lines += [f"- {count} × {group}: {reason}" for (group, reason), count in weak.most_common(12)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptbench", default=str(ROOT / "build/release/ptbench"))
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, help="begin no run after so many minutes")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    options = parser.parse_args()
    outcomes, last = [], None
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        train_weights(options.ptbench, pathlib.Path(folder))
        for number, run in enumerate(draw_runs(options.runs, options.seed), 1):
            if options.minutes and time.monotonic() - begun > 60 * options.minutes:
                break
            outcome, file = perform(options.ptbench, run, pathlib.Path(folder))
            outcomes.append(outcome)
            last = file or last
            if outcome.status != "passed":
                print(f"{number}: {outcome.status}: {shlex.join(run.arguments)}: {outcome.reason}",
                      flush=True)
            elif number % 50 == 0:
                print(f"{number} runs", flush=True)
    if last is None:
        sys.exit("no run left a result")
    text = report(outcomes, last, ["bench/verified_runs.py", "--runs", str(options.runs),
                                   "--seed", str(options.seed)])
    if options.output:
        options.output.write_text(text)
    print(text, end="")
    sys.exit(any(outcome.status in ("failed", "error") for outcome in outcomes))


if __name__ == "__main__":
    main()
