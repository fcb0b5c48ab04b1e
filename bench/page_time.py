#!/usr/bin/env python3
"""How large the page of a grid is, and how soon a browser answers.

Makes a result of RUNS runs from the runs of a real one (strategies × ranks × batches × precisions, with
their samples), has ptbench make its page, opens it in Chromium and prints, as JSON: the bytes of the
page, the seconds that making it took, and milliseconds from the begin of loading to three points: the
tables can be sorted and filtered, a click on a column has sorted the table, all charts are drawn.

    bench/page_time.py RESULT.json [--runs 200] [--ptbench build/release/ptbench]
"""

import argparse
import copy
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse

STRATEGIES = ["serial", "dp", "ddp", "ddp-flat", "ddp-central"]
RANKS = [1, 2, 4, 8]
PRECISIONS = ["fp32", "bf16"]

SCRIPT = """
<script nonce="NONCE">
(async () => {
  while (document.documentElement.dataset.charts !== 'drawn')
    await new Promise((resolve) => setTimeout(resolve, 5));
  const button = document.querySelector('#runs thead th.number button');
  const before = performance.now();
  button.click();
  document.body.getBoundingClientRect();
  const told = {sort: performance.now() - before};
  for (const mark of performance.getEntriesByType('mark')) told[mark.name] = mark.startTime;
  document.documentElement.setAttribute('data-told', encodeURIComponent(JSON.stringify(told)));
})();
</script>
"""


def grid(result, runs):
    """`result` with as many runs, of made-up figures."""
    models = [run for run in result["runs"] if run["status"] == "ok"]
    batches = [2**power for power in range(5, 5 + -(-runs // 40))]
    made = []
    for at, (strategy, ranks, batch, precision) in enumerate(
        itertools.product(STRATEGIES, RANKS, batches, PRECISIONS)
    ):
        run = copy.deepcopy(models[at % len(models)])
        run["id"] = f"mlp/{strategy}/n{ranks}/b{batch}/{precision}"
        run["strategy"] |= {
            "name": strategy,
            "world_size": ranks,
            "batch_per_replica": batch,
            "global_batch": batch * ranks,
            "precision": precision,
        }
        faster = ranks**0.9 * (1 + at / 1000)
        run["throughput"]["value"] *= faster
        run["throughput"]["ci95"] = [bound * faster for bound in run["throughput"]["ci95"] or [1, 2]]
        made.append(run)
    return result | {"runs": made[:runs]}


def in_browser(page, folder):
    """What the script tells of the page."""
    text = page.read_text()
    nonce = re.search(r"script-src 'nonce-([0-9a-f]+)'", text).group(1)
    opened = folder / "opened.html"
    opened.write_text(text.replace("</body>", SCRIPT.replace("NONCE", nonce) + "</body>"))
    # Virtual time would not tell how long something takes: the page is left open for a while instead.
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--timeout=8000",
               f"--user-data-dir={folder / 'profile'}", "--window-size=1280,800", "--dump-dom",
               f"file://{opened}"]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    told = re.search(r'data-told="([^"]*)"', dom)
    if not told:
        sys.exit("the page did not draw its charts")
    return json.loads(urllib.parse.unquote(told.group(1)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("result", type=pathlib.Path)
    arguments.add_argument("--runs", type=int, default=200)
    arguments.add_argument("--ptbench", default="build/release/ptbench")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        result = folder / "grid.json"
        result.write_text(json.dumps(grid(json.loads(given.result.read_text()), given.runs)))
        page = folder / "grid.html"
        begin = time.monotonic()
        subprocess.run([given.ptbench, "chart", result, "-o", page], timeout=300, check=True)
        figures = {
            "runs": given.runs,
            "bytes": page.stat().st_size,
            "seconds_to_make": round(time.monotonic() - begin, 3),
        }
        figures |= {f"ms_{name}": round(ms, 1) for name, ms in in_browser(page, folder).items()}
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
