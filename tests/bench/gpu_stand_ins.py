"""Stand for all programs on a machine with H100s, on a clock of their own: what scripts/gpu-check starts takes as
long as it says here, and no time at all."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import shutil
import tempfile
import types
import unittest.mock

import scripts

LOADER = importlib.machinery.SourceFileLoader("gpu_check", str(scripts.ROOT / "scripts" / "gpu-check"))
gpu_check = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", LOADER))
LOADER.exec_module(gpu_check)
import gpu_machine  # noqa: E402  the script has put bench/ where modules are looked for
import gpu_plan  # noqa: E402,F401  for tests
import gpu_process  # noqa: E402

NAME = "NVIDIA H100 80GB HBM3"
VERIFYING = {"linear": 4, "mlp": 4, "resnet18": 14, "resnet50": 28}
TIMING = {"linear": 11, "mlp": 11, "resnet18": 25, "resnet50": 48}
EAGER = {"linear": 9, "mlp": 9, "resnet18": 14, "resnet50": 28}
FOREVER = float("inf")


def of(words, option):
    return words[words.index(option) + 1]


def finding(name, state, value, detail=""):
    return {"name": name, "state": state, "value": value, "detail": detail, "remedy": None}


def doctor(gpus=1, commit="abc", state="ready"):
    return {"program": [finding("commit", "note", commit)], "engines": [finding("cuda", "ready", None)],
            "devices": [finding(f"cuda:{index}", state, NAME, f"{NAME}, 79.6 GiB, compute capability 9.0")
                        for index in range(gpus)],
            "libraries": [], "cuda:0": [finding("copy_bytes_per_second", "note", 2.5e12)],
            "files": [finding("modules", "ready", "/a/folder/of/the/machine")]}


def record(words):
    """Of a run of ptbench: twice as fast as PyTorch, and with graphs except in fp16."""
    value = 1e6 if "--engine" in words else 2e6
    has_graph = of(words, "--precision") != "fp16" and "--graph" in words and of(words, "--graph") == "auto"
    return {"status": "ok", "reason": None, "id": of(words, "-w"), "warnings": [], "strategy": {"graph": has_graph},
            "throughput": {"value": value, "ci95": [0.95 * value, 1.05 * value]}, "samples": {"repetitions": [1, 2]},
            "compute": {"peak_flops_per_second": 5e13, "utilization": 0.5, "peak_source": "measured"},
            "memory": {"peak_bytes": 1}, "scaling": {"efficiency": 0.97},
            "verification": {"status": "passed", "steps": 5, "reason": None}}


class Programs:
    """In place of gpu_check.start. `seconds`: durations of steps, by a part of their command; `fails`: such parts of
    commands that end with 1; `interrupts`: of the command in which a signal comes."""

    def __init__(self, root, gpus=1, cuda=13000, version="580.65.06", nvcc="13.0", seconds=None, fails=(),
                 interrupts=None, commit="abc"):
        self.root, self.gpus, self.cuda, self.version, self.commit = root, gpus, cuda, version, commit
        self.nvcc = nvcc
        self.seconds, self.fails, self.interrupts = seconds or {}, fails, interrupts
        self.now, self.started, self.real = 0.0, [], {}

    def __call__(self, words, environment=None):
        words = [str(word) for word in words]
        text = " ".join(words)
        self.started.append((self.now, text.replace(f"{self.root}/", ""), environment or {}))
        for part, command in self.real.items():
            if part in text:
                return gpu_process.Command(command, "/")
        return StandIn(self, words, text)

    def commands(self):
        return [text for _, text, _ in self.started]

    def begin_of(self, part):
        return next(begin for begin, text, _ in self.started if part in text)

    def duration(self, words, text):
        for part, seconds in self.seconds.items():
            if part in text:
                return seconds
        if "build ptbench_tests" in text or "scripts/build" in text:
            return 230
        if "doctor" in words:
            return 18
        if "scripts/peers" in text:
            return 120
        if "--engine" in words:
            return 68 if "pytorch-compiled" in words else EAGER[of(words, "-w")]
        if "--verify" in words:
            return VERIFYING[of(words, "-w")] if "only" in words else TIMING[of(words, "-w")]
        return 8 if "import sys, torch" in text or "tests" in text else 1

    def output(self, words, text):
        if "gpu_machine.py" in text:
            return json.dumps({"cuda": self.cuda, "gpus": self.gpus, "error": 0})
        if "nvidia-smi" in text:
            return self.version + "\n"
        if "--version" in words:
            return f"Cuda compilation tools, release {self.nvcc}, V{self.nvcc}.88\n"
        if "import sys, torch" in text:
            return "/usr/bin/python3 2.15.0\n"
        if "doctor" in words:
            return json.dumps(doctor(self.gpus, self.commit, "emulated" if "emulate-gpu" in text else "ready"))
        return "All tests passed (9 assertions in 3 test cases)\n"

    def take_effect(self, words):
        if words[0].endswith("scripts/build"):
            program = self.root / "build" / words[1] / "ptbench"
            program.parent.mkdir(parents=True, exist_ok=True)
            program.touch()
        if "-o" not in words:
            return
        rows = [{"collective": "all_reduce", "ranks": 2, "bytes": 8, "seconds": 1e-5, "busbw_bytes_per_second": 1e6,
                 "wrong": 0}]
        pathlib.Path(of(words, "-o")).write_text(json.dumps(rows if "comm" in words else {"runs": [record(words)]}))


class StandIn:
    """In place of gpu_process.Command."""

    def __init__(self, programs, words, text):
        self.programs, self.words, self.text, self.begin = programs, words, text, programs.now

    def wait(self, seconds):
        programs = self.programs
        if programs.interrupts and programs.interrupts in self.text:
            raise gpu_check.Interrupted
        end = self.begin + programs.duration(self.words, self.text)
        if end > programs.now + seconds:
            programs.now += seconds
            return gpu_process.Outcome(None, "", "")
        programs.now = max(end, programs.now)
        if any(part in self.text for part in programs.fails):
            return gpu_process.Outcome(1, "", "it is broken\n")
        programs.take_effect(self.words)
        return gpu_process.Outcome(0, programs.output(self.words, self.text), "")

    def end(self):
        pass


class Machine:
    """A tree of its own, in which the script runs. To be closed."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        (self.root / "docs").mkdir()
        shutil.copy(scripts.ROOT / "docs" / "gpu_steps.md", self.root / "docs")
        self.output = self.root / "bench" / "results" / "gpu"

    def close(self):
        self.folder.cleanup()

    def options(self, **more):
        return types.SimpleNamespace(**{"minutes": 55, "device": "cuda:0", "build": self.root / "build" / "release",
                                        "output": self.output, "emulated": False, "no_build": False, "torch": None,
                                        "again": False} | more)

    def check(self, programs, **options):
        """The status that the script exits with, and what it said."""
        said = io.StringIO()
        with contextlib.ExitStack() as patches:
            for target, name, value in ((gpu_check, "ROOT", self.root), (gpu_check, "start", programs),
                                        (gpu_check, "clock", lambda: programs.now),
                                        (gpu_machine, "compilers", lambda root: [pathlib.Path("/cuda/bin/nvcc")]),
                                        (gpu_machine, "has_cudnn", lambda nvcc: True)):
                patches.enter_context(unittest.mock.patch.object(target, name, value))
            patches.enter_context(contextlib.redirect_stdout(said))
            patches.enter_context(contextlib.redirect_stderr(said))
            scratch = patches.enter_context(tempfile.TemporaryDirectory())
            return gpu_check.Check(self.options(**options), scratch).all(), said.getvalue()

    def report(self):
        return json.loads(next(self.output.glob("*.json")).read_text())

    def summary(self):
        return next(self.output.glob("*.md")).read_text()

    def record(self, file, commit="abc"):
        return json.loads((self.output / f"nvidia-h100-80gb-hbm3-{commit}" / f"{file}.json").read_text())
