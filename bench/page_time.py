#!/usr/bin/env python3
"""How large the page of a grid is, and how soon a browser answers.

Makes a result of RUNS runs from the runs of a real one (strategies × ranks × batches × precisions, with
their samples), has ptbench make its page, opens it in Chromium and prints, as JSON: the bytes of the
page, the seconds that making it took, and milliseconds from the begin of loading until the tables can be
sorted and filtered and until all charts are drawn, and from a click on a column until the table is sorted.

    bench/page_time.py RESULT.json [--runs 200] [--times 5] [--ptbench build/release/ptbench] [-o FILE.md]
"""

import argparse
import copy
import datetime
import http.server
import itertools
import json
import pathlib
import queue
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time

import evidence

STRATEGIES = ["serial", "dp", "ddp", "ddp-flat", "ddp-central"]
RANKS = [1, 2, 4, 8]
PRECISIONS = ["fp32", "bf16"]

SCRIPT = """
<script>
(async () => {
  while (document.documentElement.dataset.charts !== 'drawn')
    await new Promise((resolve) => setTimeout(resolve, 5));
  const button = document.querySelector('#runs thead th.number button');
  const before = performance.now();
  button.click();
  document.body.getBoundingClientRect();
  const told = {sort: performance.now() - before};
  for (const mark of performance.getEntriesByType('mark')) told[mark.name] = mark.startTime;
  await fetch('/told', {method: 'POST', body: JSON.stringify(told)});
})();
</script>
"""


def grid(result, runs):
    """`result` with as many runs, of made-up figures."""
    models = [run for run in result["runs"] if run["status"] == "ok"]
    batches = [32 * (step + 1) for step in range(-(-runs // 40))]
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
    """What the script tells of the page, which is served without its policy: that forbids telling."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text())
    opened = text.replace("</body>", SCRIPT + "</body>").encode()
    told = queue.Queue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, body):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self):
            self.answer(opened if self.path == "/" else b"")

        def do_POST(self):
            told.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.answer(b"")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = subprocess.Popen(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,800",
         "--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}",
         f"http://127.0.0.1:{server.server_port}/"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    try:
        return told.get(timeout=120)
    except queue.Empty:
        sys.exit("the page did not draw its charts within 120 s")
    finally:
        browser.terminate()
        browser.wait(timeout=20)
        server.shutdown()


def measure(result, runs, ptbench):
    """{figure: value} of one page, made and opened."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        grown = folder / "grid.json"
        grown.write_text(json.dumps(grid(result, runs)))
        page = folder / "grid.html"
        begin = time.monotonic()
        subprocess.run([ptbench, "chart", grown, "-o", page], timeout=300, check=True)
        figures = {"bytes": page.stat().st_size,
                   "seconds_to_make": round(time.monotonic() - begin, 3)}
        return figures | {f"ms_{name}": round(ms, 1) for name, ms in in_browser(page, folder).items()}


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def document(given, pages):
    """The figures of all pages, with intervals, as Markdown."""
    browser = subprocess.run(["chromium", "--version"], capture_output=True, text=True, check=True)
    lines = ["# The page of many runs, made and opened", "",
             f"- date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC",
             f"- {evidence.version_of(given.ptbench)}", f"- {browser.stdout.strip()}, headless",
             f"- command: `bench/page_time.py {shlex.join(sys.argv[1:])}`",
             f"- a page of {given.runs} runs, made and opened {len(pages)} times; milliseconds count from the "
             "begin of loading, those of `ms_sort` from the click", "",
             "| figure | mean | 95 % interval | least | most |", "|---|---|---|---|---|"]
    for name in pages[0]:
        values = [page[name] for page in pages]
        middle = evidence.mean(values)
        interval = "–" if middle.low is None else f"{shown(middle.low)} to {shown(middle.high)}"
        cells = [name, shown(middle.middle), interval, shown(min(values)), shown(max(values))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("result", type=pathlib.Path)
    arguments.add_argument("--runs", type=int, default=200)
    arguments.add_argument("--times", type=int, default=5, help="pages made and opened")
    arguments.add_argument("--ptbench", default="build/release/ptbench")
    arguments.add_argument("-o", "--output", type=pathlib.Path, help="Markdown instead of JSON")
    given = arguments.parse_args()
    result = json.loads(given.result.read_text())
    pages = [measure(result, given.runs, given.ptbench) for _ in range(given.times)]
    if given.output:
        given.output.write_text(document(given, pages))
    else:
        print(json.dumps(pages))


if __name__ == "__main__":
    main()
