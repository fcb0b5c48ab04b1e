"""The script gpu-check and its processes, real ones: shell scripts in the place of all programs."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import gpu_stand_ins
from gpu_stand_ins import gpu_process, scripts

PTBENCH = """#!/bin/sh
echo "$*" >>{root}/log
case "$*" in
  *"{trap}"*) [ -e {root}/no-trap ] || {{ kill -TERM $PPID; sleep 60; }} ;;
esac
case $1 in doctor) cat {root}/doctor.json ;; esac
while [ $# -gt 1 ]; do
  [ "$1" != -o ] || cp {root}/result.json "$2"
  shift
done
"""


class Commands(unittest.TestCase):
    def test_what_a_command_has_started_ends_with_it(self):
        begin = time.monotonic()
        outcome = gpu_process.Command(["sh", "-c", "echo begun; sleep 60 & sleep 60"], "/").wait(0.5)
        self.assertIsNone(outcome.code)
        self.assertEqual(outcome.output, "begun\n")
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_command_that_does_not_listen_is_killed(self):
        with unittest.mock.patch.object(gpu_process, "GRACE", 0.1):
            command = gpu_process.Command(["sh", "-c", "trap '' TERM; sleep 60 & wait; wait; sleep 60"], "/")
            self.assertIsNone(command.wait(1).code)
        self.assertEqual(command.process.returncode, -signal.SIGKILL)

    def test_what_a_command_leaves_behind_holds_nobody_up(self):
        begin = time.monotonic()
        command = gpu_process.Command(["sh", "-c", "echo done; sleep 60 &"], "/")
        self.assertEqual(command.wait(60).output, "done\n")
        command.send(signal.SIGKILL)
        self.assertLess(time.monotonic() - begin, 30)

    def test_a_program_that_is_not_there_is_an_outcome(self):
        outcome = gpu_process.Command(["/no/such/program"], "/").wait(1)
        self.assertEqual(outcome.code, gpu_process.NOT_STARTED)
        self.assertIn("/no/such/program", outcome.last_line())


class Interruption(unittest.TestCase):
    TRAP = "-w mlp --precision bf16 -b 128"

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("scripts/gpu-check", "docs/gpu_steps.md", *(f"bench/{file.name}" for file in (
                scripts.ROOT / "bench").glob("gpu_*.py"))):
            (self.root / name).parent.mkdir(exist_ok=True)
            shutil.copy(scripts.ROOT / name, self.root / name)
        machine = self.root / "bench" / "gpu_machine.py"
        machine.write_text(machine.read_text().replace("print(json.dumps(ask_libcuda()))",
                                                       "print('{\"cuda\": %s, \"gpus\": 1, \"error\": 0}')" % 13000))
        (self.root / "doctor.json").write_text(json.dumps(gpu_stand_ins.doctor()))
        words = ["-w", "x", "--precision", "bf16", "--graph", "auto"]
        (self.root / "result.json").write_text(json.dumps({"runs": [gpu_stand_ins.record(words)]}))
        self.program("build/release/ptbench", PTBENCH.format(root=self.root, trap=self.TRAP))
        for folder in ("device", "kernels", "cuda"):
            self.program(f"build/release/tests/ptbench_tests_{folder}", "#!/bin/sh\n")
        self.program("torch", "#!/bin/sh\necho /usr/bin/python3 2.15.0\n")
        self.program("bin/nvidia-smi", "#!/bin/sh\necho 580.65.06\n")

    def program(self, name, text):
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def check(self):
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        return subprocess.run([sys.executable, "-B", self.root / "scripts" / "gpu-check", "--no-build", "--torch",
                               self.root / "torch"], capture_output=True, text=True, env=os.environ | {"PATH": path})

    def commands(self):
        return (self.root / "log").read_text().splitlines()

    def test_a_signal_keeps_what_was_measured_and_a_later_run_goes_on(self):
        begin = time.monotonic()
        first = self.check()
        self.assertEqual(first.returncode, 130, first.stdout + first.stderr)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("missing: mlp bf16, graph auto;", first.stdout)
        folder = self.root / "bench" / "results" / "gpu" / "nvidia-h100-80gb-hbm3-abc"
        kept = json.loads((folder / "resnet50-bf16.json").read_text())
        self.assertEqual(kept["found"]["samples_per_second"], 2e6)
        self.assertFalse((folder / "mlp-bf16.json").exists())
        self.assertEqual(list(self.root.rglob("*.ptbench-partial")), [])
        before = self.commands()
        (self.root / "no-trap").touch()
        second = self.check()
        self.assertEqual(second.returncode, 0, second.stdout + second.stderr)
        anew = self.commands()[len(before):]
        self.assertFalse(set(anew) & set(before[:-1]) - {"doctor --json"})
        self.assertIn("run " + self.TRAP, "\n".join(anew))


if __name__ == "__main__":
    unittest.main()
