#!/usr/bin/env python3
"""Whether Holistic Trace Analysis reads the traces of `ptbench run --trace`.

    bench/trace_readers.py --ptbench build/release/ptbench -o bench/results/trace-readers.md
    bench/trace_readers.py trace

Traces a run of each kind, and of several ranks, on the CPU, or takes folders that --trace has written,
of any device, and has the released HTA make its analyses of each: temporal breakdown, overlap of
communication and computation, idle time, profiler steps, launches of kernels, lengths of queues, sequences of
kernels, the critical path. What it finds is checked against the trace itself, and a trace that is merged is looked at too, unless it is of an emulated device, of which none
can be. HTA is installed from PyPI into a virtual environment of its own, build/trace-readers, which is
kept. Exit code 1 if anything is not as it should be.
"""
import argparse
import datetime
import json
import pathlib
import platform
import shlex
import subprocess
import sys
import tempfile
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGES = ["HolisticTraceAnalysis==0.5.*", "pandas<3"]  # with pandas 3 it finds no call stacks
STEPS = 4
COMPUTES = 7  # the stream of replica 0, on a CPU
RUNS = {
    "serial mlp": ["-w", "mlp", "-s", "serial"],
    "serial linear": ["-w", "linear", "-s", "serial"],
    "serial mlp, 4 micro-batches": ["-w", "mlp", "-s", "grad-accum", "-b", "32"],
    "dp mlp, 2 replicas": ["-w", "mlp", "-s", "dp", "-n", "2"],
    "dp linear, 2 replicas": ["-w", "linear", "-s", "dp", "-n", "2"],
    "ddp mlp, 2 ranks": ["-w", "mlp", "-s", "ddp", "-n", "2", "--bucket-mb", "1"],
    "ddp-flat mlp, 2 ranks": ["-w", "mlp", "-s", "ddp-flat", "-n", "2"],
    "ddp-central mlp, 2 ranks": ["-w", "mlp", "-s", "ddp-central", "-n", "2"],
    "ddp resnet18, 2 ranks": ["-w", "resnet18", "-s", "ddp", "-n", "2", "-b", "4"],
    "ddp linear, 2 ranks": ["-w", "linear", "-s", "ddp", "-n", "2"],
}
# Run by the environment's Python: prints what HTA says of a folder as one JSON object.
ANALYSIS = """
import json, logging, sys, tempfile, warnings
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_dir=sys.argv[1])
ranks = sorted(analysis.t.traces)
temporal = analysis.get_temporal_breakdown(visualize=False)
overlap = analysis.get_comm_comp_overlap(visualize=False)
idle = analysis.get_idle_time_breakdown(ranks=ranks, visualize=False)
idle = idle[0] if isinstance(idle, tuple) else idle
launches = analysis.get_cuda_kernel_launch_stats(ranks=ranks, visualize=False)
queues = analysis.get_queue_length_time_series(ranks=ranks)
summary = analysis.get_queue_length_summary(ranks=ranks)
with tempfile.TemporaryDirectory() as folder:
    sequences = analysis.get_frequent_cuda_kernel_sequences(
        operator_name="backward", output_dir=folder, min_pattern_len=1, visualize=False)
path = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=1)
print(json.dumps({
    "ranks": ranks,
    "steps": [int(step) for step in analysis.get_profiler_steps()],
    "temporal": json.loads(temporal.to_json(orient="records")),
    "overlap": json.loads(overlap.to_json(orient="records")),
    "idle": json.loads(idle.to_json(orient="records")),
    "launches": [{"rank": rank, "count": len(rows),
                  "shortest": float(rows[["cpu_duration", "gpu_duration"]].min().min()),
                  "least_delay": float(rows["launch_delay"].min())}
                 for rank, rows in sorted(launches.items())],
    "queues": [{"rank": rank, "least": int(rows["queue_length"].min()),
                "most": int(rows["queue_length"].max())} for rank, rows in sorted(queues.items())],
    "streams": 0 if summary is None else len(summary),
    "sequences": len(sequences),
    "critical_path": bool(path[1])}))
"""


def reader(folder):
    """The Python of an environment that has HTA."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                    *PACKAGES], check=True)
    return python


def run(command, **settings):
    return subprocess.run([str(word) for word in command], check=True, text=True,
                          capture_output=True, **settings).stdout


def trace_run(ptbench, options, folder):
    run([ptbench, "run", *options, "--steps", 20, "--threads", 1, "--verify", "off",
         "--trace", folder, "--trace-steps", STEPS])


class Trace:
    """What the files in a folder say themselves."""

    def __init__(self, folder):
        self.files = {int(path.stem.removeprefix("rank")): json.loads(path.read_text())
                      for path in sorted(folder.glob("rank*.json"))}
        if 0 not in self.files:
            raise SystemExit(f"trace_readers: there is no {folder}/rank0.json: name a folder that "
                             "`ptbench run --trace` has written")
        first = self.files[0]
        names = [event["name"] for event in first["traceEvents"]
                 if event.get("cat") == "user_annotation"]
        self.steps = [int(name.removeprefix("ProfilerStep#")) for name in names]
        self.asked = first["ptbench"]["steps"]["asked"]
        self.ranks = first["distributedInfo"]["world_size"]
        self.tells_activity = "source" in first["ptbench"].get("activity", {})
        self.is_emulated = first["ptbench"].get("emulated", False)
        self.events = sum(len(file["traceEvents"]) for file in self.files.values())
        self.communicates = any(name.startswith("nccl") for name, _ in self.kernels(0))

    def kernels(self, rank):
        """Name and stream of each."""
        return [(event["name"], event["args"]["stream"]) for event in self.files[rank]["traceEvents"]
                if event.get("cat") == "kernel"]

    def computes(self, rank):
        """The stream that a rank computes on: a GPU's has a number of CUDA's."""
        if "source" not in self.files[rank]["ptbench"].get("activity", {}):
            return COMPUTES
        streams = [stream for name, stream in self.kernels(rank) if not name.startswith("nccl")]
        return max(sorted(set(streams)), key=streams.count, default=COMPUTES)


def launch_problems_of(found, trace):
    """The same of the kernels' launches, which cost no time but on a device that tells of its own."""
    problems = []
    if [row["rank"] for row in found["launches"]] != list(range(trace.ranks)):
        problems.append(f"launches of ranks {[row['rank'] for row in found['launches']]}")
    for row in found["launches"]:
        if row["count"] == 0:
            problems.append(f"rank {row['rank']} launches nothing")
        elif not trace.tells_activity and (row["shortest"] < 0 or row["least_delay"] < 0):
            problems.append(f"rank {row['rank']} has kernels of {row['shortest']:g} µs, begun "
                            f"{row['least_delay']:g} µs after their launch")
    for row in found["queues"]:
        if row["least"] < 0 or row["most"] < 1:
            problems.append(f"rank {row['rank']} has queues of {row['least']} to {row['most']} kernels")
    if len(found["queues"]) != trace.ranks or found["streams"] == 0:
        problems.append(f"queues of {len(found['queues'])} ranks, {found['streams']} streams")
    if found["sequences"] == 0:
        problems.append("no sequence of kernels in backward")
    if not found["critical_path"]:
        problems.append("no critical path")
    return problems


def problems_of(found, trace):
    """What HTA does not see as it is."""
    problems = []
    communicates = trace.communicates
    if found["ranks"] != list(range(trace.ranks)):
        problems.append(f"ranks {found['ranks']} of {trace.ranks}")
    if found["steps"] != trace.steps[:-1]:
        problems.append(f"steps {found['steps']}, traced {trace.steps}")
    if len(found["steps"]) != trace.asked:
        problems.append(f"{len(found['steps'])} steps of {trace.asked}")
    for row in found["temporal"]:
        if row["compute_time(us)"] <= 0:
            problems.append(f"rank {row['rank']} computes nothing")
        if communicates and row["non_compute_time(us)"] < 0:
            problems.append(f"rank {row['rank']} communicates less than nothing")
    problems += launch_problems_of(found, trace)
    shares = [row["comp_comm_overlap_pctg"] for row in found["overlap"]]
    if communicates and any(share is None or not 0 <= share <= 100 for share in shares):
        problems.append(f"overlap {shares}")
    return problems


def percent(value):
    return "–" if value is None else f"{value:.1f} %"


def rows_of(name, found, trace):
    """One line a rank."""
    overlap = {row["rank"]: row["comp_comm_overlap_pctg"] for row in found["overlap"]}
    for row in found["temporal"]:
        rank = row["rank"]
        idle = {}
        for entry in found["idle"]:
            computes = entry["rank"] == rank and entry["stream"] == trace.computes(rank)
            if computes and entry["idle_time"]:
                cause = entry["idle_category"]
                idle[cause] = idle.get(cause, 0) + entry["idle_time"]
        causes = ", ".join(f"{cause.replace('_', ' ')} {time:.0f}" for cause, time in idle.items()) or "–"
        yield (f"| {name} | {rank} | {found['steps'][0]}–{found['steps'][-1]} "
               f"| {percent(row['compute_time_pctg'])} | {percent(row['non_compute_time_pctg'])} "
               f"| {percent(row['idle_time_pctg'])} | {percent(overlap.get(rank))} | {causes} |")


def read(ptbench, python, name, folder):
    """Lines of the table, and what is wrong."""
    trace = Trace(folder)
    try:
        found = json.loads(run([python, "-c", ANALYSIS, folder]).splitlines()[-1])
    except subprocess.CalledProcessError as error:
        return [], [error.stderr.strip().splitlines()[-1]]
    problems = problems_of(found, trace)
    if not trace.is_emulated:
        with tempfile.TemporaryDirectory() as temporary:
            merged = pathlib.Path(temporary) / "merged.json"
            run([ptbench, "trace-merge", folder, "-o", merged])
            count = len(json.loads(merged.read_text())["traceEvents"])
        if count != trace.events:
            problems.append(f"{count} events merged of {trace.events}")
    return list(rows_of(name, found, trace)), problems


def check(ptbench, python, name, options):
    """The same of a run that is traced for it."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary) / "trace"
        trace_run(ptbench, options, folder)
        return read(ptbench, python, name, folder)


def arguments_of(words):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=pathlib.Path, metavar="FOLDER",
                        help="of a trace, in place of runs on the CPU")
    parser.add_argument("--ptbench", type=pathlib.Path, default=ROOT / "build/release/ptbench")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    return parser.parse_args(words)


def main():
    arguments = arguments_of(sys.argv[1:])
    ptbench = arguments.ptbench.resolve()
    python = reader(ROOT / "build" / "trace-readers")
    versions = run([python, "-m", "pip", "list", "--format=json", "--disable-pip-version-check"])
    versions = {package["name"]: package["version"] for package in json.loads(versions)}
    lines, wrong = [], {}
    folders = {str(folder): folder for folder in arguments.folders}
    for name, what in (folders or RUNS).items():
        rows, problems = (read if folders else check)(ptbench, python, name, what)
        lines += rows
        if problems:
            wrong[name] = problems
        print(f"{name}: {'; '.join(problems) or 'ok'}", file=sys.stderr)
    count = len(folders or RUNS)
    text = "\n".join([
        "# Traces that Holistic Trace Analysis reads", "",
        f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
        f"- {run([ptbench, '--version']).strip()}",
        f"- HolisticTraceAnalysis {versions['HolisticTraceAnalysis']}, pandas {versions['pandas']}, "
        f"Python {platform.python_version()}",
        f"- command: `bench/trace_readers.py {shlex.join(sys.argv[1:])}`",
        "- the last step of each trace HTA leaves out" if folders else
        f"- each run traces {STEPS} steps and one more, which HTA leaves out; `--threads 1`", "",
        f"{count - len(wrong)} of {count} runs are read without errors: ranks and steps are "
        "those of the files, and `trace-merge` loses no event of those that it takes.", "",
        "| run | rank | steps | computes | communicates | idle | of communication overlapped "
        "| why the stream that computes was idle, µs |",
        "|---|---|---|---|---|---|---|---|", *lines, "",
        *[f"- {name}: {'; '.join(problems)}" for name, problems in wrong.items()]]).rstrip() + "\n"
    if arguments.output:
        arguments.output.write_text(text)
    else:
        print(text, end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
