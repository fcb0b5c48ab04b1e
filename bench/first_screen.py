#!/usr/bin/env python3
"""Measures anew what README.md shows, on an idle machine with a clean build of a commit.

    bench/first_screen.py               # measures (three minutes), writes bench/results/, the blocks and the picture
    bench/first_screen.py --picture     # draws docs/page.png anew from the newest result alone

The sweep and the run go to bench/results/DATE-mlp-strong-scaling and bench/results/DATE-digits, as .json with what was
printed as .txt; older files of these names are removed. bench/figures.py then writes the blocks from them. A
sweep whose conclusion is not reliable, or a build of changed sources, is refused. The picture is the first
screen of the sweep's page and needs chromium. Only Python's standard library is used.
"""
import argparse
import datetime
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

import evidence
import figures

ROOT = pathlib.Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "page.png"
COMMANDS = {
    "mlp-strong-scaling": "sweep -w mlp -s dp,ddp,ddp-flat -n 2 --scaling strong --threads 1 "
                          "--rounds 12 --max-time 60 -o scaling.json",
    "digits": "run -w models/digits.json --data tests/data/digits --threads 1 --epochs 12 -o digits.json",
}


def unreliable(file):
    """Why what a sweep found is not to be shown first, or None."""
    runs = [run for run in file["runs"] if run["status"] == "ok"]
    if len(runs) < len(file["runs"]):
        return "a row failed"
    for run in runs:
        clean = sum((one["clean_slices"] or 0) > 0 for one in run["samples"]["repetitions"])
        if clean < 3:
            return f"{clean} repetitions of {run['id']} were clean: use an idle machine"
    return None


def measure(ptbench, name, command, folder):
    """Writes bench/results/DATE-NAME.json and .txt in place of older ones."""
    words = shlex.split(command)
    written = pathlib.Path(folder) / words[-1]
    done = subprocess.run([ptbench, *words[:-1], written], cwd=ROOT, capture_output=True, text=True, check=True,
                          timeout=1200)
    file = json.loads(written.read_text(encoding="utf-8"))
    evidence.require_origin([file["generator"]])
    if name == "mlp-strong-scaling" and (why := unreliable(file)):
        sys.exit(f"the sweep is not shown: {why}")
    for old in (ROOT / "bench" / "results").glob(f"*-{name}.*"):
        old.unlink()
    stem = ROOT / "bench" / "results" / f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}-{name}"
    # Where this machine has the program and the result is nobody's concern.
    text = written.read_text(encoding="utf-8").replace(str(ptbench), "ptbench").replace(str(written), words[-1])
    stem.with_suffix(".json").write_text(text, encoding="utf-8")
    stem.with_suffix(".txt").write_text(f"$ ptbench {command}\n{done.stdout}", encoding="utf-8")


def draw(ptbench, result, picture):
    """The first screen of the page of a result."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        page = pathlib.Path(name) / "page.html"
        subprocess.run([ptbench, "chart", result, "-o", page], timeout=120, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                        "--force-color-profile=srgb", "--window-size=1280,640", "--virtual-time-budget=5000",
                        f"--user-data-dir={name}/profile", f"--screenshot={picture}", page.as_uri()],
                       timeout=120, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--picture", action="store_true", help="measure nothing")
    parser.add_argument("--ptbench", default=ROOT / "build" / "release" / "ptbench", type=pathlib.Path)
    given = parser.parse_args()
    try:
        if not given.picture:
            with tempfile.TemporaryDirectory() as folder:
                for name, command in COMMANDS.items():
                    measure(given.ptbench.resolve(), name, command, folder)
    except evidence.Unpublishable as reason:
        sys.exit(f"nothing is published of {reason}")
    draw(given.ptbench.resolve(), figures.newest("mlp-strong-scaling.json").path, PICTURE)
    if not given.picture:
        sys.exit(subprocess.run([sys.executable, ROOT / "bench" / "figures.py"], check=False).returncode)


if __name__ == "__main__":
    main()
