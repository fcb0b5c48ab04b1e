#!/usr/bin/env python3
"""What a step of `ptbench.steps` costs beside the user's work, in CPU time of the thread that trains.

    bench/steps_cost.py --rounds 10 -o results/steps-cost.md
    bench/steps_cost.py --rounds 10 --torchrun build/peers/venv/bin/torchrun -o results/steps-cost.md

Each round runs the same loop, with an empty body but for a loss, under the server of the tests, in one process
and, with --torchrun, in two ranks. A step's cost is the loop's CPU time over its steps, what is sent between
steps included, less that of a plain loop; of ranks the larger one. CPU time is counted, since a busy machine
makes the clock on the wall tell of others. Of `sdk/include/ptbench/steps.h` the same, where there is a compiler.
Only Python's standard library is used.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile

import evidence

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python"))

import fake_ptbench  # noqa: E402

STEPS = 200_000
LIMIT_US = 2.0
PYTHON = f"""
import os
import time
import ptbench
begin = None
for step in ptbench.steps(samples=1):
    if begin is None:
        begin = time.thread_time()
    step.loss = 1.0
seconds = time.thread_time() - begin
begin = time.thread_time()
for number in range({STEPS}):
    pass
cost = 1e6 * (seconds - (time.thread_time() - begin)) / {STEPS}
os.write(1, b"%.9f\\n" % cost)  # at once, since the ranks share the stream
"""
C = f"""
#include <ptbench/steps.h>
static double seconds(void) {{
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}}
int main(void) {{
  const ptbench_hello hello = {{1, 0, NULL, NULL, NULL, NULL}};
  ptbench_steps* steps = ptbench_steps_open(hello);
  double begin = -1;
  while (ptbench_steps_next(steps)) {{
    if (begin < 0) begin = seconds();
    ptbench_steps_loss(steps, 1.0);
  }}
  printf("%.9f\\n", 1e6 * (seconds() - begin) / {STEPS});
  ptbench_steps_close(steps);
  return 0;
}}
"""


def cost_us(command, ranks=1):
    """Microseconds of CPU time a step, of the rank for which it is more."""
    with fake_ptbench.FakePtbench() as server:
        variables = {**server.environment, "PYTHONPATH": str(ROOT / "sdk" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        program = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=variables)
        server.listener.settimeout(60)
        connections = [server.accept() for _ in range(ranks)]
        for connection in connections:
            connection.end.settimeout(60)
            connection.grant(STEPS)
        told = [0] * ranks
        while min(told) < STEPS:
            for at, connection in enumerate(connections):
                if told[at] < STEPS:
                    told[at] = connection.read()["steps"][-1][0]
        for connection in connections:
            connection.close()
        output, _ = program.communicate(timeout=60)
    if program.returncode != 0:
        sys.exit(f"{shlex.join(command)} ended with {program.returncode}")
    return max(float(line) for line in output.split())


def cases(folder, torchrun):
    """Name -> command and ranks."""
    script = folder / "loop.py"
    script.write_text(PYTHON)
    found = {"Python": ([sys.executable, str(script)], 1)}
    if torchrun:
        found["Python, 2 ranks of torchrun"] = (
            [torchrun, "--nproc-per-node", "2", str(script)], 2)
    compiler = shutil.which("cc")
    if compiler:
        (folder / "loop.c").write_text(C)
        subprocess.run([compiler, "-O2", "-I", str(ROOT / "sdk" / "include"), str(folder / "loop.c"), "-o",
                        str(folder / "loop"), "-lm"], check=True)
        found["C"] = ([str(folder / "loop")], 1)
    return found


def report(costs):
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    lines = [
        "# What a step of ptbench.steps/1 costs",
        "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- commit {commit.stdout.strip()}, Python {platform.python_version()}, {os.cpu_count()} cores",
        f"- command: `{shlex.join(sys.argv)}`",
        f"- {STEPS:,} steps a round, with a loss; CPU time of the training thread, messages included, less that of "
        "an empty loop; of ranks the larger",
        "",
        "| client | µs a step | 95 % interval | rounds | within 2 µs |",
        "|---|---|---|---|---|",
    ]
    for name, values in costs.items():
        found = evidence.mean(values)
        interval = "none" if found.low is None else f"{found.low:.2f} to {found.high:.2f}"
        within = "yes" if found.low is not None and evidence.is_within(found, LIMIT_US) else "not shown"
        lines.append(f"| {name} | {found.middle:.2f} | {interval} | {found.count} | {within} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--torchrun", help="of an environment with PyTorch")
    parser.add_argument("-o", "--output", metavar="FILE.md")
    parser.add_argument("--json", action="store_true", help="print the figures of all rounds")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        commands = cases(pathlib.Path(folder), arguments.torchrun)
        costs = {name: [] for name in commands}
        for _ in range(arguments.rounds):
            for name, (command, ranks) in commands.items():
                costs[name].append(cost_us(command, ranks))
    text = report(costs)
    print(json.dumps(costs) if arguments.json else text)
    if arguments.output:
        pathlib.Path(arguments.output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
