"""The driver of a machine beside the CUDA that ptbench is built with: what scripts/gpu-check asks before it builds."""
import json
import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

import gpu_stand_ins
from gpu_stand_ins import gpu_machine, gpu_process


def driver(cuda, version="580.65.06", gpus=1):
    return gpu_machine.Driver(version, cuda, gpus)


def answering(**found):
    """In place of run(): a libcuda that says so, and no nvidia-smi."""
    def run(words, seconds):
        if "gpu_machine.py" in str(words[-1]):
            return gpu_process.Outcome(0, json.dumps({"cuda": 13000, "gpus": 1, "error": 0} | found), "")
        return gpu_process.Outcome(gpu_process.NOT_STARTED, "", "no such file")
    return run


class Drivers(unittest.TestCase):
    def refused(self, run):
        with self.assertRaises(gpu_machine.Unusable) as raised:
            gpu_machine.read_driver(run)
        self.assertEqual(raised.exception.status, 5)
        message, remedy = str(raised.exception).split("\n  -> ")
        self.assertTrue(message and remedy)
        return message, remedy

    def test_a_driver_is_known_by_its_version_and_what_it_serves(self):
        found = gpu_machine.read_driver(answering(cuda=12080, gpus=2))
        self.assertEqual((found.cuda_text(), found.gpus), ("12.8", 2))

    def test_without_a_driver_the_remedy_is_told(self):
        message, remedy = self.refused(answering(error=None))
        self.assertIn("there is no NVIDIA driver here", message)
        self.assertIn("--gpus all", remedy)

    def test_without_a_gpu_the_reason_is_told(self):
        self.assertIn("finds no GPU (cuInit: 100)", self.refused(answering(gpus=0))[0])
        self.assertIn("nvidia-fabricmanager", self.refused(answering(gpus=0, error=802))[1])
        self.assertIn("(cuInit: 999)", self.refused(answering(gpus=0, error=999))[0])

    def test_a_driver_that_does_not_answer_is_told_at_a_deadline(self):
        message, _ = self.refused(lambda words, seconds: gpu_process.Outcome(None, "", ""))
        self.assertIn("does not answer within 60 s", message)

    def test_the_driver_is_asked_in_a_process_of_its_own(self):
        command = gpu_process.Command([sys.executable, "-B", gpu_machine.__file__], "/")
        self.assertEqual(set(json.loads(command.wait(60).output)), {"cuda", "gpus", "error"})


class Toolkits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.found = []
        for name, value in (("compilers", lambda root: self.found),
                            ("has_cudnn", lambda nvcc: "bare" not in str(nvcc))):
            patch = unittest.mock.patch.object(gpu_machine, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def toolkit(self, cuda, *names, version="550.54.15"):
        """For a driver, where there are compilers of these names: "12.4", or "12.4 bare" without cuDNN."""
        self.found = [pathlib.Path("/", name, "nvcc") for name in names]

        def run(words, seconds):
            return gpu_process.Outcome(0, f"Cuda compilation tools, release {str(words[0]).split('/')[1].split()[0]}, V", "")
        return gpu_machine.toolkit_for(driver(cuda, version), self.root, run)

    def test_a_new_driver_takes_the_compiler_that_there_is(self):
        for name in ("13.0", "12.8"):
            self.assertEqual(self.toolkit(13000, name), ("release", {"CUDACXX": f"/{name}/nvcc"}, False))

    def test_a_new_driver_without_a_usable_toolkit_gets_that_of_the_script(self):
        for names in ([], ["11.8"], ["13.0 bare"], ["14.0"]):
            toolkit = self.toolkit(13000, *names)
            self.assertTrue(toolkit.is_brought)
            self.assertEqual(toolkit.environment["CUDACXX"], f"{self.root}/build/_deps/cuda/bin/nvcc")

    def test_a_driver_for_cuda_12_takes_a_toolkit_of_cuda_12(self):
        toolkit = self.toolkit(12040, "13.0", "12.2", "12.8 bare", "12.6")
        self.assertEqual(toolkit, ("cuda12", {"CUDACXX": "/12.6/nvcc"}, False))

    def test_a_driver_for_cuda_12_without_such_a_toolkit_is_told_what_to_install(self):
        with self.assertRaises(gpu_machine.Unusable) as raised:
            self.toolkit(12040, "13.0")
        text = str(raised.exception)
        self.assertEqual(text.count("\n"), 1)
        for word in ("driver 550.54.15 serves CUDA up to 12.4", "driver 580 or later", "cuda-toolkit-12-8", "CUDACXX",
                     "cuda-compat-13-0"):
            self.assertIn(word, text)

    def test_an_older_driver_is_too_old(self):
        with self.assertRaises(gpu_machine.Unusable) as raised:
            self.toolkit(11080, "12.8", version="520.61.05")
        self.assertIn("driver 520.61.05 is too old", str(raised.exception))

    def test_the_preset_for_cuda_12_is_there(self):
        presets = json.loads((gpu_stand_ins.scripts.ROOT / "CMakePresets.json").read_text())
        for kind in ("configurePresets", "buildPresets"):
            self.assertIn("cuda12", [preset["name"] for preset in presets[kind]])


class Places(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def file(self, path, content=b""):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.chmod(0o755)
        return file

    def test_compilers_are_found_in_the_order_of_cmake(self):
        named, home, brought = (self.file(path) for path in ("named/nvcc", "home/bin/nvcc", "build/_deps/cuda/bin/nvcc"))
        environment = {"CUDACXX": str(named), "CUDA_HOME": str(self.root / "home"), "PATH": str(self.root)}
        with unittest.mock.patch.dict(os.environ, environment):
            found = gpu_machine.compilers(self.root)
        self.assertEqual([nvcc for nvcc in found if self.root in nvcc.parents], [named, home, brought])
        self.assertEqual(found[:2], [named, home])

    def test_cudnn_is_found_beside_the_compiler(self):
        nvcc = self.file("cuda/bin/nvcc")
        self.file("cuda/include/cudnn_graph.h")
        self.assertTrue(gpu_machine.has_cudnn(nvcc))

    def test_a_module_for_a_newer_cuda_is_refused(self):
        self.file("release/lib/ptbench/libptbench_cuda.so", b"\x7fELF libcudart.so.13\0")
        gpu_machine.require_module(self.root / "release", driver(13000))
        with self.assertRaises(gpu_machine.Unusable) as raised:
            gpu_machine.require_module(self.root / "release", driver(12040, "550.54.15"))
        self.assertIn("was built for CUDA 13, and driver 550.54.15 serves CUDA up to 12.4", str(raised.exception))

    def test_a_build_folder_without_the_module_is_configured_anew(self):
        self.file("with/build.ninja", b"build lib/ptbench/libptbench_cuda.so:")
        for name in ("without/build.ninja", "without/CMakeCache.txt"):
            self.file(name)
        for name in ("with", "without", "nothing"):
            gpu_machine.forget_configuration(self.root / name)
        self.assertEqual(sorted(path.name for path in self.root.glob("*/*")), ["build.ninja"])


if __name__ == "__main__":
    unittest.main()
