#!/usr/bin/env python3
"""What it costs that many ranks meet and watch each other: on one host, and each on a host of its own.

    cmake --build build/release --target ptbench_bench_rendezvous
    bench/many_ranks.py -o results/many-ranks.md

All are processes of this machine; those of several hosts meet over TCP on its loopback interface. Below each table
stands by what the costs grow from a quarter of the most ranks to the most: 4 where they grow as n, 16 as n². Needs an
idle machine, some minutes, and about 3 descriptors a rank (ulimit -n). Only Python's standard library is used.
"""
import argparse
import datetime
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT,
                          timeout=1800).stdout


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def growth(table):
    """By what each column grows from a quarter of the most ranks to the most; empty where there is no such row."""
    head, _, *rows = [cells(line) for line in table.splitlines()]
    values = {int(row[0]): [float(cell.split()[0]) for cell in row[1:]] for row in rows}
    most = max(values)
    if most // 4 not in values:
        return ""
    factors = [f"{name} × {last / first:.1f}" if first else f"{name} from 0"
               for name, first, last in zip(head[1:], values[most // 4], values[most])]
    return f"\nFrom {most // 4} to {most} ranks: {', '.join(factors)}.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--ranks", nargs="*", default=[2, 4, 8, 16, 32, 64, 128, 256], type=int)
    parser.add_argument("-o", "--output", type=pathlib.Path, help="Markdown; standard output if left out")
    options = parser.parse_args()
    program = pathlib.Path(options.build) / "bench" / "ptbench_bench_rendezvous"
    commit = output("git", "rev-parse", "--short=12", "HEAD").strip()
    if output("git", "status", "--porcelain", "src", "bench").strip():
        commit += "-dirty"
    now = datetime.datetime.now(datetime.timezone.utc)
    load = os.getloadavg()[0]
    text = f"""# Many ranks that meet and watch each other, on one host and on as many as ranks

- date: {now:%Y-%m-%d %H:%M} UTC
- commit {commit}, {options.build}
- {os.cpu_count()} cores, load before {load:.1f}
- command: `bench/many_ranks.py`; medians of 3 worlds each, watched for 2 s
"""
    for title, apart in (("On one host", []), ("Each on a host of its own, over TCP", ["apart"])):
        table = output(program, *apart, *options.ranks)
        text += f"\n## {title}\n\n{table}{growth(table)}"
    if options.output:
        options.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
