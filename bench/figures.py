#!/usr/bin/env python3
"""Writes the figures of README.md and docs/ from the files under bench/results/.

    bench/figures.py            # rewrites the marked blocks
    bench/figures.py --check    # exit code 1 where a block is not what the files give, or where a
                                # measured claim stands outside of a block; ctest calls this

A block is what stands between `<!-- figures: NAME -->` and `<!-- /figures -->`; NAME is in FIGURES
below, where figures whose files are still to be measured stand too. Each figure has its 95 % interval, rounds, date and commit: files of dirty builds, or of
several commits for one table, are refused, and what has no interval is left out. Only Python's
standard library is used.
"""
import argparse
import itertools
import json
import pathlib
import re
import sys

import evidence
import native_and_pytorch

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- figures: (\S+) -->\n)(.*?)(<!-- /figures -->)", re.DOTALL)
# Claims that someone measured: "1.5 ×", "236 GFLOP/s", "75 % of the peak".
CLAIM = re.compile(r"\d[\d.,]* ?×(?! ?\d)|\d[\d.,]* ?(?:[GM]FLOP/s|GB/s|[kM]? ?samples/s)"
                   r"|\d[\d.,]* ?% of (?:the |its )?(?:\w+ )?peak")
CODE = re.compile(r"```.*?```|`[^`\n]*`|^    [^\n]*$", re.DOTALL | re.MULTILINE)


class Source:
    """A file under bench/results/, and what it says of itself."""

    def __init__(self, name):
        self.name = name
        self.path = ROOT / "bench" / "results" / name

    def text(self):
        return self.path.read_text(encoding="utf-8")

    def json(self):
        return json.loads(self.text())

    def link(self, where):
        return f"[{where}](../bench/results/{self.name})"


# Shared wording


def plus_minus(value, low, high, unit="", factor=1.0, digits=1):
    return evidence.with_interval(factor * value, factor * low, factor * high,
                                  lambda number: f"{number:.{digits}f}") + unit


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head),
            *("| " + " | ".join(row) + " |" for row in rows)]


def span(found):
    """"38 of 40 (95 %: 83 to 99 %)"."""
    hits = round(found.middle * found.count)
    return f"{hits} of {found.count} ({100 * found.low:.0f} to {100 * found.high:.0f} %)"


def machine_of(environment):
    return f"{environment['cpu']['model']}, {environment['cpu']['cores']} cores"


# Result files of ptbench


def measured(source):
    """The records that were measured, after a look at their build."""
    file = source.json()
    evidence.require_origin([file["generator"]])
    return file, [run for run in file["runs"] if run["status"] == "ok"]


def origin_line(source):
    file, runs = measured(source)
    repetitions = sorted({len(run["samples"]["repetitions"]) for run in runs})
    clean = min(sum((one["clean_slices"] or 0) > 0 for one in run["samples"]["repetitions"])
                for run in runs)
    rounds = "–".join(str(one) for one in dict.fromkeys((repetitions[0], repetitions[-1])))
    of_them = "all" if clean == repetitions[-1] else f"at least {clean}"
    return (f"{machine_of(file['environment'])}; commit {file['generator']['git_commit']}, "
            f"{file['created'][:10]}; {rounds} repetitions a row, {of_them} of them clean; "
            f"± half the 95 % interval; {source.link('the file')}.")


def throughput_cell(run):
    throughput = run["throughput"]
    if not throughput["ci95"]:
        return "no interval"
    low, high = throughput["ci95"]
    digits = 0 if throughput["value"] >= 100 else 1
    return plus_minus(throughput["value"], low, high, digits=digits)


def share_cell(value, interval):
    return plus_minus(value, *interval, unit=" %", factor=100) if interval else ""


def scaling_table(source):
    _, runs = measured(source)
    rows = []
    for run in runs:
        strategy, scaling = run["strategy"], run["scaling"] or {}
        rows.append([
            f"`{strategy['name']}`", str(strategy["world_size"]), str(strategy["threads"]),
            str(strategy["batch_per_replica"]), throughput_cell(run),
            share_cell(scaling.get("efficiency"), scaling.get("efficiency_ci95")),
            share_cell(scaling.get("efficiency_vs_all_cores"),
                       scaling.get("efficiency_vs_all_cores_ci95"))])
    return [*table(["strategy", "n", "threads of a replica", "micro-batch", "samples/s",
                    "efficiency", "of serial on all cores"], rows), "", origin_line(source)]


def engines_table(source):
    """ptbench beside PyTorch, of a file of bench/native_and_pytorch.py."""
    file = source.json()
    return [*table(native_and_pytorch.HEADINGS, native_and_pytorch.rows(file)), "",
            f"{native_and_pytorch.origin_of(file)}; {source.link('the file')}."]


def engines_ratios(source):
    """The ratios of that table alone, a row for each workload and strategy."""
    rows = {}
    for workload, precision, strategy, _, eager, compiled, better, *_ in native_and_pytorch.rows(source.json()):
        rows.setdefault((workload, strategy), {})[precision] = eager if better == "eager" else compiled
    precisions = list(dict.fromkeys(name for row in rows.values() for name in row))
    return [*table(["workload", "strategy", *precisions],
                   [[*name, *(row.get(precision, "") for precision in precisions)] for name, row in rows.items()]), "",
            f"{native_and_pytorch.origin_of(source.json())}; {source.link('the file')}."]


def console(source, record):
    """What ptbench printed, beside the record of the same measurement: warnings by their name."""
    measured(record)
    lines = source.text().rstrip("\n").splitlines()
    begin = next((at for at, line in enumerate(lines) if line.startswith("warning ")), len(lines))
    end = next((at for at, line in enumerate(lines) if line.startswith("conclusion ")), len(lines))
    names = [match.group(1) for line in lines[begin:end]
             if (match := re.match(r"warning +([\w-]+)", line))]
    told = [f"(and warnings: {', '.join(names)})"] if names else []
    return ["```", *lines[:min(begin, end)], *told, *lines[end:], "```"]


# Reports in Markdown


def head_of(source):
    """What a report of trials begins with: its build, and when and where it measured."""
    head = source.text().split("\n| ", 1)[0]
    commit, build_type = re.search(r"- ptbench .*?commit (\w[\w-]*),? \(?(\w+)", head).groups()
    evidence.require_origin([{"git_commit": commit, "build_type": build_type}])
    judge = re.search(r"- judged by: .*?commit (\w+)", head)
    judged = f", judged with commit {judge.group(1)}" if judge and judge.group(1) != commit else ""
    return (f"{re.search(r'- machine: ([^;]+);', head).group(1)}; commit {commit}{judged}, "
            f"{re.search(r'- date: (.{10})', head).group(1)}; {source.link('the file')}.")


def table_lines(source, *heads):
    """The lines of the first table in a report, or of the first one that begins with one of the heads."""
    lines = source.text().splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith(heads or "|"))
    return list(itertools.takewhile(lambda line: line.startswith("|"), lines[begin:]))


def table_cells(source, *heads):
    """Names of the columns, and rows, of that table."""
    names, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in table_lines(source, *heads))
    return names, rows


def gate_rows(source):
    """Side -> verdict -> how many, of the first table of a report."""
    (_, *names), rows = table_cells(source, "| side ", "| gates ")
    return {side: dict(zip(names, map(int, counts))) for side, *counts in rows}


def lockstep_rows(source):
    """As gate_rows() has them, of a report whose table has a row for each case."""
    names, rows = table_cells(source, "| case ")
    return {row[names.index("case")]: {verdict: int(row[names.index(verdict)].split()[0])
                                       for verdict in ("same", "slower", "faster", "ambiguous")} for row in rows}


def trials_row(label, rows, source):
    """A row for all trials of one report: how many verdicts were right, with 95 % intervals, and of what build."""
    verdicts = [(side.endswith("A/A"), counts) for side, counts in rows.items()]
    count = sum(sum(counts.values()) for _, counts in verdicts)
    right = sum(counts.get("same" if equal else "slower", 0) for equal, counts in verdicts)
    ambiguous = sum(counts.get("ambiguous", 0) for _, counts in verdicts)
    return [label, span(evidence.proportion(right, count)), str(ambiguous),
            span(evidence.proportion(count - right - ambiguous, count)), head_of(source).replace(", 2 cores", "").rstrip(".")]


def trials_table():
    """All trials of gates and of comparisons."""
    gates = [("gates, also beside compilations", "2026-11-23-lockstep-gates.md"),
             ("gates, nothing else running", "2026-11-23-lockstep-gates-2.md"),
             ("gates, one thread beside builds", "2026-11-23-lockstep-gates-3.md"),
             ("gates, one thread", "2026-11-23-lockstep-gates-4.md"),
             ("gates, 20 at 1 %", "2026-11-23-lockstep-gates-5.md"),
             ("gates of today, 20 at 1 %", "2026-11-24-small-changes.md")]
    others = [("gates of a program", "2026-11-27-program-gates-one.md"),
              ("gates of a program, 2 ranks", "2026-11-27-program-gates.md"),
              ("comparisons of a program", "2026-11-27-program-compare.md"),
              ("comparisons", "2026-11-22-gate-mlp-quartiles.md"),
              ("comparisons, busy neighbour", "2026-11-21-gate-mlp-busy.md"),
              ("comparisons, hidden neighbour", "2026-11-22-gate-mlp-hidden-neighbour.md")]
    rows = [trials_row(label, rows_of(Source(name)), Source(name))
            for rows_of, named in ((lockstep_rows, gates), (gate_rows, others)) for label, name in named]
    return table(["trials", "right", "ambiguous", "wrong", "where and when"], rows)


# The injected slowdown


def slowdown_table(source):
    file = source.json()
    evidence.require_origin(file["generators"])
    rows = []
    for case in file["cases"]:
        found = evidence.mean(case["slowdowns"])
        if found.low is None:
            continue
        rows.append([f"`{case['options']}`", f"{100 * case['asked']:g} %",
                     f"{100 * found.middle:.2f} % [{100 * found.low:.2f}, {100 * found.high:.2f}]",
                     f"{100 * case['realized']:.2f} %", str(found.count)])
    return [*table(["run", "asked for", "measured, [95 % interval]", "in the record", "processes"],
                   rows), "",
            f"{file['machine']}; commit {file['generators'][0]['git_commit']}, {file['date']}; "
            f"{source.link('the file')}."]


def newest(name):
    """The source of the latest date with that name, as bench/first_screen.py writes them."""
    return Source(max(path.name for path in (ROOT / "bench" / "results").glob(f"*-{name}")))


def answer(text, record):
    """The command of a sweep and its conclusion, for readers who have ten seconds."""
    lines = text.text().splitlines()
    begin = next(at for at, line in enumerate(lines) if line.startswith("conclusion "))
    concluded = [lines[begin].removeprefix("conclusion"), *lines[begin + 1:]]
    told = " ".join(" ".join(itertools.takewhile(lambda line: line.startswith(" "), concluded)).split())
    return ["```", lines[0], "```", "", f"> {told}", "", origin_line(record)]


SCALING, SCALING_TEXT = newest("mlp-strong-scaling.json"), newest("mlp-strong-scaling.txt")

NATIVE_AND_PYTORCH = Source("2026-11-28-native-and-pytorch.json")
NATIVE_AND_PYTORCH_WITHOUT_AMX = Source("2026-11-28-native-and-pytorch-without-amx.json")
NATIVE_AND_PYTORCH_MKL = Source("2026-11-28-native-and-pytorch-mkl.json")

FIGURES = {
    "gate-trials": trials_table,
    "slowdown": lambda: slowdown_table(Source("2026-11-23-slowdown.json")),
    "scaling": lambda: scaling_table(SCALING),
    "answer": lambda: answer(SCALING_TEXT, SCALING),
    "run": lambda: console(newest("digits.txt"), newest("digits.json")),
    "sweep": lambda: console(SCALING_TEXT, SCALING),
    "native-and-pytorch": lambda: engines_table(NATIVE_AND_PYTORCH),
    "native-and-pytorch-ratios": lambda: engines_ratios(NATIVE_AND_PYTORCH),
    "native-and-pytorch-without-amx": lambda: engines_table(NATIVE_AND_PYTORCH_WITHOUT_AMX),
    "native-and-pytorch-without-amx-ratios": lambda: engines_ratios(NATIVE_AND_PYTORCH_WITHOUT_AMX),
    "native-and-pytorch-mkl": lambda: engines_ratios(NATIVE_AND_PYTORCH_MKL),
}


# Documents


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def written(text, path):
    """The document with its blocks as the files give them."""
    links = "](bench/results/" if path.name == "README.md" else "](../bench/results/"

    def block(match):
        lines = FIGURES[match.group(2)]()
        return match.group(1) + "\n".join(lines).replace("](../bench/results/", links) + "\n" + match.group(4)

    return BLOCK.sub(block, text)


def claims_outside(text):
    """Measured claims that no block vouches for."""
    bare = CODE.sub("", BLOCK.sub("", text))
    return [match.group(0) for match in CLAIM.finditer(bare)]


def problems(path):
    text = path.read_text(encoding="utf-8")
    name = path.relative_to(ROOT)
    found = [f"{name}: '{claim}' stands outside of a block of figures"
             for claim in claims_outside(text)]
    for match in BLOCK.finditer(text):
        if match.group(2) not in FIGURES:
            return [*found, f"{name}: no figures are called '{match.group(2)}'"]
    if written(text, path) != text:
        found.append(f"{name}: figures are not what bench/results/ gives; run bench/figures.py")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="change nothing")
    arguments = parser.parse_args()
    try:
        if not arguments.check:
            for path in documents():
                text = path.read_text(encoding="utf-8")
                path.write_text(written(text, path), encoding="utf-8")
        found = [problem for path in documents() for problem in problems(path)]
    except evidence.Unpublishable as reason:
        sys.exit(f"nothing is published of {reason}")
    for problem in found:
        print(problem, file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
