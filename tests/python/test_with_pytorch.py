#!/usr/bin/env python3
"""What needs PyTorch: hooks, examples, and that the peers train as ptbench does. Skipped without scripts/peers."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import fake_ptbench

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PYTHON = pathlib.Path(os.environ.get("PTBENCH_PYTHON") or ROOT / "build" / "peers" / "venv" / "bin" / "python")
PTBENCH = os.environ.get("PTBENCH_TEST_EXECUTABLE")
TRAIN = str(ROOT / "peers" / "pytorch" / "train.py")
SKIPPED = 77

ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "sdk" / "python"),
               "PYTHONDONTWRITEBYTECODE": "1", "ACCELERATE_USE_CPU": "true", "GLOO_SOCKET_IFNAME": "lo"}

WATCHED = """
import sys, ptbench, torch
from torch import distributed, nn
torch.set_num_threads(1)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
if sys.argv[1] == "ddp":
    distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=0, world_size=1)
    model = nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters())
inputs, labels = torch.randn(32, 64), torch.randint(10, (32,))
original = torch.autograd.backward
with ptbench.torch.watch(model, optimizer):
    for step in ptbench.steps(samples=32):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step.loss = loss
assert torch.autograd.backward is original
assert not model._forward_pre_hooks and not optimizer._optimizer_step_pre_hooks
"""


def environment(server):
    return {**server.environment, **ENVIRONMENT}


class Programs(unittest.TestCase):
    def measure(self, command, ranks=1, phases=True):
        """The programs' hello and reports, by rank; each makes 4 steps, 2 with phases and 2 more."""
        with fake_ptbench.FakePtbench() as server:
            program = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env=environment(server), cwd=ROOT / "examples" / "python")
            try:
                server.listener.settimeout(100)
                connections = [server.accept() for _ in range(ranks)]
                reports = {connection.hello["rank"]: [] for connection in connections}
                for upto, more in ((4, {}), (6, {"phases": True}), (8, {})):
                    for connection in connections:
                        connection.end.settimeout(100)
                        connection.grant(upto, **more)
                    for connection in connections:
                        reports[connection.hello["rank"]] += connection.reports_to(upto)
                for connection in connections:
                    connection.close()
                out, errors = program.communicate(timeout=100)
            finally:
                program.kill()
                program.wait()
        self.assertEqual(program.returncode, 0, errors)
        self.assertEqual(sorted(reports), list(range(ranks)))
        for own in reports.values():
            fake_ptbench.check_steps(fake_ptbench.all_steps(own))
            self.assertEqual(len(fake_ptbench.all_steps(own)), 8)
        return [connection.hello for connection in connections], reports, out

    def phases_of(self, reports):
        """Names in each step that has any."""
        names = {}
        for report in reports:
            for number, name, _, _ in report.get("phases", []):
                names.setdefault(number, []).append(name)
        return names

    def test_watch_marks_the_phases_of_a_model(self):
        hello, reports, _ = self.measure([str(PYTHON), "-c", WATCHED, "plain"])
        self.assertEqual(hello[0]["framework"]["name"], "pytorch")
        self.assertEqual(self.phases_of(reports[0]), dict.fromkeys((5, 6), ["forward", "backward", "optimizer"]))

    def test_watch_marks_the_exposed_communication_of_ddp(self):
        with tempfile.TemporaryDirectory() as folder:
            _, reports, _ = self.measure([str(PYTHON), "-c", WATCHED, "ddp", f"{folder}/store"])
        self.assertEqual(self.phases_of(reports[0]), dict.fromkeys(
            (5, 6), ["forward", "backward", "communication_exposed", "optimizer"]))

    def test_the_example_of_one_process(self):
        hello, reports, out = self.measure([str(PYTHON), "train.py", "--batch", "32"])
        self.assertEqual((hello[0]["samples"], hello[0]["world_size"]), (32, 1))
        self.assertTrue(out.startswith("loss "))
        self.assertEqual(sorted(self.phases_of(reports[0])), [5, 6])

    def test_the_example_under_torchrun(self):
        hello, _, _ = self.measure([str(PYTHON.with_name("torchrun")), "--nproc-per-node", "2", "train_ddp.py"], 2)
        self.assertEqual([one["world_size"] for one in hello], [2, 2])

    def test_the_example_with_accelerate(self):
        hello, _, out = self.measure(
            [str(PYTHON.with_name("torchrun")), "--nproc-per-node", "2", "train_accelerate.py"], 2)
        self.assertEqual([one["world_size"] for one in hello], [2, 2])
        self.assertIn("2 processes", out)

    def test_the_peer_starts_its_ranks(self):
        hello, reports, _ = self.measure([str(PYTHON), TRAIN, "-w", "mlp", "-s", "ddp", "-n", "2", "-b", "16",
                                          "--accumulate", "2", "--precision", "bf16"], 2)
        self.assertEqual([(one["samples"], one["precision"], one["device"]) for one in hello], [(32, "bf16", "cpu")] * 2)
        self.assertIn("communication_exposed", self.phases_of(reports[0])[5])


class UnderPtbench(unittest.TestCase):
    """The examples as docs/your-script.md measures them."""

    COMMANDS = {"train.py": "{python} train.py --batch {{b}}",
                "train_ddp.py": "OMP_NUM_THREADS={{threads}} {torchrun} --nproc-per-node {{n}} train_ddp.py --batch {{b}}",
                "train_accelerate.py":
                    "OMP_NUM_THREADS={{threads}} {torchrun} --nproc-per-node {{n}} train_accelerate.py --batch {{b}}"}

    def ptbench(self, *arguments, codes=(0,)):
        if not PTBENCH:
            self.skipTest("ptbench is not built")
        variables = {key: value for key, value in ENVIRONMENT.items() if key not in ("PYTHONPATH", "OMP_NUM_THREADS")}
        variables["PTBENCH_PYTHON"] = str(PYTHON)
        done = subprocess.run([PTBENCH, *arguments], capture_output=True, text=True, timeout=300,
                              env={**os.environ, **variables}, cwd=ROOT / "examples" / "python")
        self.assertIn(done.returncode, codes, done.stderr + done.stdout)
        return done.stdout

    def measure(self, script, path, repeats, processes):
        command = self.COMMANDS[script].format(python=PYTHON, torchrun=PYTHON.with_name("torchrun"))
        places = ["-n", str(processes), "--threads", "1"] if processes > 1 else []
        self.ptbench("run", "--program", command, "-b", "32", *places, "--repeats", str(repeats), "--max-time", "3",
                     "--min-time", "1", "-o", str(path))
        return json.loads(path.read_text(encoding="utf-8"))["runs"][0]

    def test_examples(self):
        with tempfile.TemporaryDirectory() as folder:
            for script, processes in (("train.py", 1), ("train_ddp.py", 2), ("train_accelerate.py", 2)):
                with self.subTest(script=script):
                    record = self.measure(script, pathlib.Path(folder) / f"{script}.json", 1, processes)
                    self.assertEqual(record["status"], "ok")
                    self.assertEqual(record["strategy"]["world_size"], processes)
                    self.assertEqual(record["strategy"]["global_batch"], 32 * processes)
                    self.assertGreater(record["step_seconds"]["median"], 0)
                    self.assertGreater(record["phases_seconds"]["forward"], 0)
                    self.assertGreater(record["phases_seconds"]["backward"], 0)
                    exposed = record["phases_seconds"]["communication_exposed"]
                    self.assertEqual(exposed is not None, processes > 1)

    def test_the_engine_is_compared_with_ptbench_first(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "r.json"
            self.ptbench("run", "--engine", "pytorch", "-w", "linear", "-s", "ddp", "-n", "2", "--threads", "1",
                         "--repeats", "1", "--max-time", "2", "-o", str(file))
            record = json.loads(file.read_text(encoding="utf-8"))["runs"][0]
            self.assertEqual((record["status"], record["verification"]["status"]), ("ok", "passed"))
            self.assertEqual(record["verification"]["steps"], 4)

    def test_two_results_of_a_script_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / name for name in ("before.json", "after.json")]
            for file in files:
                self.measure("train.py", file, 3, 1)
            said = self.ptbench("compare", *map(str, files), codes=(0, 3, 4))  # whatever the machine does
            self.assertIn("train/program", said)


class Equivalence(unittest.TestCase):
    """Single steps from equal weights, on the same batches."""

    def verify(self, *options):
        if not PTBENCH:
            self.skipTest("ptbench is not built")
        done = subprocess.run([str(PYTHON), TRAIN, *options, "--verify", "--ptbench", PTBENCH, "--threads", "1"],
                              capture_output=True, text=True, timeout=300, env={**os.environ, **ENVIRONMENT})
        if done.returncode == 5 and "--precision bf16: this CPU has neither" in done.stderr:
            self.skipTest("this CPU computes nothing in bf16")
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        found = json.loads(done.stdout)
        self.assertEqual(len(found["steps"]), 4)
        return found

    def test_cells(self):
        for workload, options in {"linear": [], "mlp": [], "resnet18": ["-b", "4", "--samples", "64"]}.items():
            for precision in ("fp32", "bf16"):
                for strategy in (["-s", "serial"], ["-s", "ddp", "-n", "2"]):
                    with self.subTest(workload=workload, precision=precision, strategy=strategy):
                        self.verify("-w", workload, *options, "--precision", precision, *strategy)

    def test_accumulation(self):
        self.verify("-w", "mlp", "-b", "16", "-s", "ddp", "-n", "2", "--accumulate", "2")

    def test_settings_the_other_way_train_alike(self):
        others = ["channels_last", "fused", "set_to_none", "denormals", "huge_pages", "tcmalloc", "bucket_view",
                  "static_graph"]
        every = [word for setting in others for word in ("--other", setting)]
        self.verify("-w", "resnet18", "-b", "4", "--samples", "64", "-s", "ddp", "-n", "2", *every)

    def test_another_learning_rate_is_found(self):
        # The losses of single steps from equal weights say nothing of updates: their length does.
        done = subprocess.run(
            [str(PYTHON), "-c",
             "import sys; sys.path.insert(0, sys.argv[1]); import options, verify_run\n"
             "own = verify_run._command\n"
             "verify_run._command = lambda *both: ['0.0011' if word == '0.001' else word for word in own(*both)]\n"
             "arguments = ['-w', 'linear', '--ptbench', sys.argv[2]]\n"
             "sys.exit(verify_run.run(options.parse(arguments), arguments))", str(ROOT / "peers" / "pytorch"),
             PTBENCH or ""], capture_output=True, text=True, timeout=300, env={**os.environ, **ENVIRONMENT})
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(json.loads(done.stdout)["verification"], "failed")


if __name__ == "__main__":
    if not os.access(PYTHON, os.X_OK):
        print(f"skipped: there is no {PYTHON}; scripts/peers makes it")
        sys.exit(SKIPPED)
    unittest.main()
