"""The script gpu-check on an emulated device: test_gpu_check.py BUILD_FOLDER. Its order, deadlines and interruptions
are tested with stand-ins, in tests/bench/test_gpu_check.py."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts" / "gpu-check"
BUILD = pathlib.Path(sys.argv.pop(1))


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
        files = sorted(self.output.glob("*.*"))
        self.assertEqual([file.suffix for file in files], [".json", ".md"], done.stderr)
        self.assertTrue(files[0].name.startswith("emulated-sm-80-20"))
        return done, json.loads(files[0].read_text()), files[1].read_text()

    def test_all_steps_pass_and_no_speed_is_told(self):
        done, found, text = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(found["outcome"], "passed")
        statuses = {step["name"]: step["status"] for step in found["steps"]}
        self.assertNotIn("PyTorch", statuses)  # it is not emulated
        self.assertIn("tests: operators against the reference", statuses)
        self.assertEqual([(row["workload"], row["graph"]) for row in found["runs"] if row["precision"] == "fp32"],
                         [("linear", "auto"), ("mlp", "auto"), ("linear", "off"), ("mlp", "off")])
        self.assertLessEqual(set(numbers_in(found)), {"batch", "memory_bytes", "repetitions"})
        self.assertIn("it has no speed", text)
        later, found_later, _ = self.check()
        self.assertIn("mlp fp32, graph auto: passed before", later.stdout)
        self.assertEqual(found_later["runs"], found["runs"])

    def test_a_step_that_fails_is_named_and_ends_none_of_the_others(self):
        done, found, text = self.check(PTBENCH_EMULATOR_BREAK="sgd_kernel:2")
        self.assertEqual(done.returncode, 2)
        failed = [step for step in found["steps"] if step["status"] == "failed"]
        self.assertIn("mlp fp32, graph auto", [step["name"] for step in failed])
        self.assertIn("exit status", failed[0]["detail"])
        self.assertTrue(found["steps"][-1]["name"].endswith("graph off"))
        self.assertEqual({row["status"] for row in found["runs"]}, {"passed", "failed"})  # Adam, SGD
        self.assertIn("| failed |", text)


class Usage(unittest.TestCase):
    def test_it_tells_how_it_is_used(self):
        done = run("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("--emulated", done.stdout)

    def test_emulated_results_are_kept_away_from_real_ones(self):
        done = run("--emulated")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--emulated needs --output", done.stderr)


if __name__ == "__main__":
    unittest.main()
