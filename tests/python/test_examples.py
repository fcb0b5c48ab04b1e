#!/usr/bin/env python3
"""examples/python/plain.py, alone and against a fake ptbench. Only Python's standard library is used."""

import os
import pathlib
import subprocess
import sys
import unittest

import fake_ptbench

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLAIN = [sys.executable, "-B", str(ROOT / "examples" / "python" / "plain.py")]
PACKAGE = {"PYTHONPATH": str(ROOT / "sdk" / "python")}


class PlainTest(unittest.TestCase):
    def test_alone_it_makes_its_own_steps(self):
        variables = {key: value for key, value in os.environ.items() if key != "PTBENCH_STEPS"}
        done = subprocess.run([*PLAIN, "--steps", "50"], capture_output=True, text=True, timeout=60,
                              env={**variables, **PACKAGE})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^y = \d\.\d+ x \+ \d\.\d+$")

    def test_two_ranks_stop_after_the_same_step(self):
        with fake_ptbench.FakePtbench() as server:
            programs = [subprocess.Popen(
                [*PLAIN, "--batch", "16"], stdout=subprocess.DEVNULL,
                env={**server.environment, **PACKAGE, "RANK": str(rank), "WORLD_SIZE": "2"}) for rank in (0, 1)]
            connections = [server.accept(), server.accept()]
            for upto, more in ((20, {}), (25, {"phases": True}), (60, {})):
                for connection in connections:
                    connection.grant(upto, **more)
                reports = [connection.reports_to(upto) for connection in connections]
            for connection in connections:
                connection.close()
            self.assertEqual([program.wait(fake_ptbench.DEADLINE) for program in programs], [0, 0])
        self.assertEqual(sorted(connection.hello["rank"] for connection in connections), [0, 1])
        for own in reports:
            fake_ptbench.check_steps(fake_ptbench.all_steps(own))


if __name__ == "__main__":
    unittest.main()
