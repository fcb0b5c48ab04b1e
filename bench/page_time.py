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
import http.server
import itertools
import json
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

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


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("result", type=pathlib.Path)
    arguments.add_argument("--runs", type=int, default=200)
    arguments.add_argument("--ptbench", default="build/release/ptbench")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
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
