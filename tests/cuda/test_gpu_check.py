"""The script gpu-check on an emulated device: test_gpu_check.py BUILD_FOLDER."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "gpu-check"
BUILD = pathlib.Path(sys.argv.pop(1))
LOADER = importlib.machinery.SourceFileLoader("gpu_check", str(SCRIPT))
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", LOADER))
LOADER.exec_module(gpu_check)


def run(*arguments, **environment):
    return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True,
                          env=os.environ | environment)


def numbers_in(value):
    """Names of fields that hold a number, of whatever depth."""
    if isinstance(value, dict):
        for name, part in value.items():
            if isinstance(part, (int, float)) and not isinstance(part, bool):
                yield name
            yield from numbers_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from numbers_in(part)


class Emulated(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.output = pathlib.Path(self.folder.name) / "gpu"

    def check(self, **environment):
        done = run("--emulated", "--build", BUILD, "-o", self.output, **environment)
        files = sorted(self.output.glob("*"))
        self.assertEqual([file.suffix for file in files], [".json", ".md"], done.stderr)
        self.assertTrue(files[0].name.startswith("emulated-sm-80-20"))
        return done, json.loads(files[0].read_text()), files[1].read_text()

    def test_all_steps_pass_and_no_speed_is_told(self):
        done, found, text = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(found["outcome"], "passed")
        statuses = {step["name"]: step["status"] for step in found["steps"]}
        self.assertEqual(statuses["PyTorch"], "skipped")
        self.assertIn("tests: operators against the reference", statuses)
        self.assertEqual([(row["workload"], row["graph"]) for row in found["runs"] if row["precision"] == "fp32"],
                         [("linear", "auto"), ("mlp", "auto"), ("linear", "off"), ("mlp", "off")])
        self.assertLessEqual(set(numbers_in(found)), {"batch", "memory_bytes", "repetitions"})
        self.assertIn("it has no speed", text)

    def test_a_step_that_fails_is_named_and_ends_none_of_the_others(self):
        done, found, text = self.check(PTBENCH_EMULATOR_BREAK="sgd_kernel:2")
        self.assertEqual(done.returncode, 2)
        failed = [step for step in found["steps"] if step["status"] == "failed"]
        self.assertIn("mlp fp32, graph auto", [step["name"] for step in failed])
        self.assertIn("exit status", failed[0]["detail"])
        self.assertTrue(found["steps"][-1]["name"].endswith("graph off"))
        self.assertEqual({row["status"] for row in found["runs"]}, {"passed", "failed"})  # Adam, SGD
        self.assertIn("| failed |", text)


def finding(name, state, value, detail=""):
    return {"name": name, "state": state, "value": value, "detail": detail, "remedy": None}


class Programs:
    """Stand for all programs on a machine with an H100."""

    def __init__(self):
        self.commands = []

    def __call__(self, command, seconds, environment=None):
        self.commands.append([str(word) for word in command])
        return gpu_check.Outcome(0, self.output_of(self.commands[-1]), "")

    def output_of(self, command):
        if command[0] == "nvidia-smi":
            return "580.65.06\n"
        if command[-1].startswith("import torch"):
            return "2.15.0 True\n"
        if "doctor" in command:
            return json.dumps(self.doctor())
        if "run" in command:
            pathlib.Path(command[command.index("-o") + 1]).write_text(json.dumps({"runs": [self.record(command)]}))
            return ""
        return "All tests passed (9 assertions in 3 test cases)\n"

    @staticmethod
    def doctor():
        name = "NVIDIA H100 80GB HBM3"
        return {"program": [finding("commit", "note", "abc")], "engines": [finding("cuda", "ready", None)],
                "devices": [finding("cuda:0", "ready", name, f"{name}, 79.6 GiB, compute capability 9.0")],
                "libraries": [], "cuda:0": [finding("copy_bytes_per_second", "note", 2.5e12)],
                "files": [finding("modules", "ready", "/a/folder/of/the/machine")]}

    @staticmethod
    def record(command):
        def of(option):
            return command[command.index(option) + 1]

        value = 1e6 if "--engine" in command else 2e6
        return {"status": "ok", "reason": None, "id": of("-w"), "warnings": [],
                "strategy": {"graph": of("--precision") != "fp16" and "--graph" in command and of("--graph") == "auto"},
                "throughput": {"value": value, "ci95": [0.95 * value, 1.05 * value]}, "samples": {"repetitions": [1, 2]},
                "compute": {"peak_flops_per_second": 5e13, "utilization": 0.5, "peak_source": "measured"},
                "memory": {"peak_bytes": 1}, "verification": {"status": "passed", "steps": 5, "reason": None}}


class Real(unittest.TestCase):
    def test_every_workload_runs_in_every_precision_beside_pytorch(self):
        with tempfile.TemporaryDirectory() as folder:
            programs, output = Programs(), pathlib.Path(folder) / "gpu"
            (pathlib.Path(folder) / "ptbench").touch()
            options = types.SimpleNamespace(minutes=10, device="cuda:0", build=pathlib.Path(folder), output=output,
                                            emulated=False, no_build=True, torch="python3")
            with unittest.mock.patch.object(gpu_check, "run", programs):
                self.assertEqual(gpu_check.Check(options, folder).all(), 0)
            files = sorted(output.glob("nvidia-h100-80gb-hbm3-20*"))
            found, text = json.loads(files[0].read_text()), files[1].read_text()
        self.assertEqual(found["driver"], "580.65.06")
        self.assertEqual(len(found["runs"]), 4 * 4 + 4 * 3)  # without a graph again, where there was one
        self.assertEqual(sum(row["pytorch"] is not None for row in found["runs"]), 16)
        mlp = next(row for row in found["runs"] if row["workload"] == "mlp")
        self.assertEqual((mlp["batch"], mlp["ratio_to_pytorch"]), (128, 2))
        compiled = [(row["workload"], row["precision"], row["graph"]) for row in found["runs"]
                    if row["ratio_to_pytorch_compiled"]]
        self.assertEqual(sorted(compiled), [("mlp", "bf16", "auto"), ("mlp", "fp32", "auto"),
                                            ("resnet50", "bf16", "auto")])
        self.assertEqual(sum("pytorch-compiled" in command for command in programs.commands), 3)
        self.assertEqual(mlp["beside_prediction"], "within")
        self.assertIn("| verify resnet50 tf32 | passed |", text)
        self.assertIn("2,000,000 (1,900,000 to 2,100,000) | 50 % | 1,000,000 (950,000 to 1,050,000) | 2.00 | - |", text)
        self.assertIn("| 2.00 | 1,000,000 (950,000 to 1,050,000) | 2.00 |", text)
        self.assertNotIn("of/the/machine", json.dumps(found))
        self.assertNotIn(str(ROOT), text)


class Deadlines(unittest.TestCase):
    def test_what_a_command_has_started_ends_with_it(self):
        begin = time.monotonic()
        outcome = gpu_check.run(["sh", "-c", "echo begun; sleep 60 & sleep 60"], 0.2)
        self.assertIsNone(outcome.code)
        self.assertEqual(outcome.output, "begun\n")
        self.assertLess(time.monotonic() - begin, 30)

    def test_what_there_is_no_time_for_is_left_out(self):
        options = types.SimpleNamespace(minutes=0, device="cuda:0", build=BUILD, emulated=True)
        check = gpu_check.Check(options, "/nowhere")
        self.assertIsNone(check.step("late", ["true"], 60))
        self.assertEqual([step["status"] for step in check.steps], ["left out"])


class Usage(unittest.TestCase):
    def test_it_tells_how_it_is_used(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--emulated", done.stdout)

    def test_emulated_results_are_kept_away_from_real_ones(self):
        done = run("--emulated")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--emulated needs --output", done.stderr)

    def test_without_a_driver_the_remedy_is_told(self):
        try:
            gpu_check.require_driver()
        except gpu_check.Unusable:
            done = run("--no-build")
            self.assertEqual(done.returncode, 5)
            self.assertIn("-> ", done.stderr)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
