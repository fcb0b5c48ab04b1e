#!/usr/bin/env python3
"""Lets the tools that `ptbench export` writes for read what it writes, and looks at what they say.

    bench/export_readers.py build/release/ptbench --benchmark DIR --hyperfine DIR --bencher DIR \\
        --logging DIR -o bench/results/export-readers.md

The folders are checkouts of google/benchmark, sharkdp/hyperfine, bencherdev/bencher and
mlcommons/logging; a tool whose folder is not named is left out, and the report says so. Two results
of `linear` are measured, the second with steps 20 % longer on purpose, so that there is something to
find; `--base` and `--new` name others. A third is NEW with all runs failed. Exit code 1 if a reader
fails, or does not say what it should.

Needs, for Python: numpy and scipy (compare.py, welch_ttest.py, advanced_statistics.py), matplotlib
(hyperfine's plots), pandas (JSON lines), jsonschema (Bencher's schema); a reader whose library is
absent is left out.
"""
import argparse
import contextlib
import datetime
import importlib.util
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

SLOWER = 0.2  # the share by which steps of NEW are longer


class Reading(NamedTuple):
    """What a reader does: `command` must end with 0 and say all of `says` (regular expressions)."""
    reader: str
    format: str
    needs: list  # Python modules
    folder: str  # of the checkout, as an option; empty: none is needed
    command: list
    says: list


class Outcome(NamedTuple):
    reading: Reading
    problem: str  # empty: all was well
    output: str


READ_LINES = ("import pandas, sys; runs = pandas.read_json(sys.argv[1], lines=True); "
              "print(runs[['created', 'commit', 'id', 'status']].to_string())")
CHECK_SCHEMA = ("import json, jsonschema, sys; document = json.load(open(sys.argv[2])); "
                "jsonschema.validate(document, json.load(open(sys.argv[1]))); "
                "print(len(document), 'benchmarks keep to the schema')")
READ_JUNIT = ("import sys, xml.etree.ElementTree as tree; "
              "root = tree.parse(sys.argv[1]).getroot(); "
              "print(root.attrib); [print(case.attrib) for case in root.iter('testcase')]")
PLOTS = ["plot_whisker", "plot_histogram", "plot_progression", "plot_benchmark_comparison"]


def readings(ids, checkouts):
    """All that is tried, on files in the working directory."""
    python = sys.executable
    first = re.escape(ids[0])
    gbench, hyperfine, bencher = (checkouts.get(name, "")
                                  for name in ("benchmark", "hyperfine", "bencher"))
    found = [
        Reading("compare.py", "gbench", ["numpy", "scipy"], "benchmark",
                [python, f"{gbench}/tools/compare.py", "--no-color", "benchmarks", "base.gbench",
                 "new.gbench"],
                [first + r"\s+[+-]\d", first + r"_mean\s", first + r"_pvalue\s+0\.",
                 "OVERALL_GEOMEAN"]),
        Reading("compare.py, where NEW failed", "gbench", ["numpy", "scipy"], "benchmark",
                [python, f"{gbench}/tools/compare.py", "--no-color", "benchmarks", "base.gbench",
                 "failed.gbench"], ["to failed.gbench\n"]),
        Reading("welch_ttest.py", "hyperfine", ["scipy"], "hyperfine",
                [python, f"{hyperfine}/scripts/welch_ttest.py", "both.hyperfine"],
                ["Command 1: " + first, r"p = \d"]),
        Reading("advanced_statistics.py", "hyperfine", ["numpy"], "hyperfine",
                [python, f"{hyperfine}/scripts/advanced_statistics.py", "both.hyperfine",
                 "--time-unit", "millisecond"],
                [f"Command '{first}'", r"P_25 \.\. P_75"]),
    ]
    found += [Reading(f"{plot}.py", "hyperfine", ["numpy", "matplotlib"], "hyperfine",
                      [python, f"{hyperfine}/scripts/{plot}.py", "both.hyperfine", "-o",
                       f"{plot}.png"], []) for plot in PLOTS]
    found += [
        Reading("bmf.json, JSON Schema", "bmf", ["jsonschema"], "bencher",
                [python, "-c", CHECK_SCHEMA, f"{bencher}/services/console/public/bmf.json",
                 "base.bmf"], ["benchmarks keep to the schema"]),
        Reading("mlp_parser, ruleset 6.1.0", "mlperf", [], "logging",
                [python, "-m", "mlperf_logging.compliance_checker.mlp_parser.ruleset_610",
                 "base.mlperf"], [r"Parsed [1-9]\d* log lines with 0 errors"]),
        Reading("pandas.read_json(lines=True)", "jsonl", ["pandas"], "",
                [python, "-c", READ_LINES, "base.jsonl"], [first]),
        Reading("xml.etree", "junit", [], "", [python, "-c", READ_JUNIT, "base.junit"],
                [r"'failures': '0'", first]),
    ]
    return found


def run(command, **settings):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **settings)


def checked(command, **settings):
    result = run(command, **settings)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {result.returncode}:\n{result.stderr}")
    return result.stdout


def measure(ptbench, folder):
    """Names of two results."""
    for name, more in (("base", []), ("new", ["--slowdown", str(SLOWER)])):
        print(f"measuring {name}", file=sys.stderr)
        checked([ptbench, "run", "-w", "linear", "--threads", "1", "--repeats", "10", "--min-time",
                 "1", "--max-time", "120", "-o", f"{name}.json", *more], cwd=folder)
    return folder / "base.json", folder / "new.json"


def export(ptbench, base, new, folder):
    """Writes NAME.FORMAT files; the ids of the runs of BASE."""
    formats = [row["name"] for row in json.loads(checked([ptbench, "list", "exports", "--json"]))]
    for name in formats:
        for side, files in (("base", [base]), ("new", [new])):
            checked([ptbench, "export", *files, "-f", name, "-o", folder / f"{side}.{name}"])
    checked([ptbench, "export", base, new, "-f", "hyperfine", "-o", folder / "both.hyperfine"])
    failed = json.loads(new.read_text(encoding="utf-8"))
    for record in failed["runs"]:
        record.update(status="failed", reason="on purpose")
    (folder / "failed.json").write_text(json.dumps(failed), encoding="utf-8")
    checked([ptbench, "export", folder / "failed.json", "-f", "gbench", "-o",
             folder / "failed.gbench"])
    return [line["id"] for line in map(json.loads, open(folder / "base.jsonl", encoding="utf-8"))]


def missing(reading, checkouts):
    absent = [module for module in reading.needs if importlib.util.find_spec(module) is None]
    if absent:
        return "left out: without " + ", ".join(absent)
    if reading.folder and reading.folder not in checkouts:
        return f"left out: --{reading.folder} was not given"
    return ""


def read(reading, folder, path):
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": path}
    result = run(reading.command, cwd=folder, env=environment)
    output = result.stdout
    if result.returncode != 0:
        return Outcome(reading, f"ended with {result.returncode}", output + result.stderr)
    for pattern in reading.says:
        if not re.search(pattern, output):
            return Outcome(reading, f"did not say '{pattern}'", output + result.stderr)
    if "-o" in reading.command and not (folder / reading.command[-1]).stat().st_size:
        return Outcome(reading, "drew nothing", output)
    return Outcome(reading, "", output)


def version_of(folder):
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return run(["git", "-C", folder, "log", "-1", "--format=%h of %cs"]).stdout.strip()
    return ""


def library_versions():
    from importlib import metadata  # pylint: disable=import-outside-toplevel
    found = []
    for name in ("numpy", "scipy", "matplotlib", "pandas", "jsonschema"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found.append(f"{name} {metadata.version(name)}")
    return ", ".join([f"Python {platform.python_version()}", *found])


def report(arguments, outcomes, left_out, checkouts):
    now = datetime.datetime.now(datetime.timezone.utc)
    names = {"benchmark": "google/benchmark", "hyperfine": "sharkdp/hyperfine",
             "bencher": "bencherdev/bencher", "logging": "mlcommons/logging"}
    lines = ["# What other tools read of exports", "",
             f"- date: {now:%Y-%m-%d %H:%M} UTC",
             f"- {checked([arguments.ptbench, '--version']).strip()}",
             f"- {library_versions()}"]
    lines += [f"- {names[name]}: {version_of(folder)}" for name, folder in checkouts.items()]
    lines += [f"- measured: `linear`, up to 10 repetitions; NEW with `--slowdown {SLOWER}`"
              if not arguments.base else f"- BASE {arguments.base}, NEW {arguments.new}",
              "- what is shown is that files are read, not how fast anything is", "",
              "| reader | format | outcome |", "|---|---|---|"]
    lines += [f"| {one.reading.reader} | {one.reading.format} | {one.problem or 'reads it'} |"
              for one in outcomes]
    lines += [f"| {reading.reader} | {reading.format} | {why} |" for reading, why in left_out]
    for one in outcomes:
        if one.output.strip():
            lines += ["", f"## {one.reading.reader}", "", "```", one.output.rstrip(), "```"]
    return "\n".join(lines) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptbench", type=pathlib.Path)
    for name in ("benchmark", "hyperfine", "bencher", "logging"):
        parser.add_argument(f"--{name}", metavar="DIR", type=pathlib.Path)
    parser.add_argument("--base", metavar="FILE", type=pathlib.Path)
    parser.add_argument("--new", metavar="FILE", type=pathlib.Path)
    parser.add_argument("-o", "--output", metavar="FILE.md", type=pathlib.Path)
    parsed = parser.parse_args(arguments)
    if (parsed.base is None) != (parsed.new is None):
        parser.error("--base and --new go together")
    parsed.ptbench = parsed.ptbench.resolve()
    return parsed


def main(arguments=None):
    arguments = parse(arguments)
    checkouts = {name: getattr(arguments, name).resolve()
                 for name in ("benchmark", "hyperfine", "bencher", "logging")
                 if getattr(arguments, name)}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        base, new = ((arguments.base, arguments.new) if arguments.base
                     else measure(arguments.ptbench, folder))
        ids = export(arguments.ptbench, base, new, folder)
        tried = readings(ids, checkouts)
        path = str(checkouts.get("logging", ""))
        left_out = [(one, missing(one, checkouts)) for one in tried if missing(one, checkouts)]
        outcomes = [read(one, folder, path) for one in tried if not missing(one, checkouts)]
    text = report(arguments, outcomes, left_out, checkouts)
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    print(text)
    return 1 if any(one.problem for one in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
