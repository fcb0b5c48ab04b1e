"""The driver of this machine's GPUs, and the CUDA toolkit that ptbench is to be built with beside it.

    bench/gpu_machine.py    # what libcuda.so.1 says, as JSON; it may hang where a GPU is broken
"""
import ctypes
import json
import os
import pathlib
import re
import shutil
import sys
import typing

BUILT_FOR = 13  # the CUDA that ptbench is built with where the driver serves it
LEAST_DRIVER = {13: 580, 12: 525}  # docs.nvidia.com/deploy/cuda-compatibility: minor version compatibility
LEAST_TOOLKIT = (12, 4)  # what the sources compile with
# Of cuInit, where more is to be said than its number.
FAULTS = {34: "libcuda.so.1 is the stub of a toolkit: take its folder out of LD_LIBRARY_PATH",
          100: "it finds no GPU: check nvidia-smi and CUDA_VISIBLE_DEVICES",
          802: "the GPUs' switches are not set up: start nvidia-fabricmanager",
          803: "libcuda.so.1 and the kernel's module are of different versions: restart the machine, or take "
               "libraries for another driver out of LD_LIBRARY_PATH",
          804: "this GPU takes no libraries of a newer driver: take them out of LD_LIBRARY_PATH"}


class Unusable(Exception):
    """Nothing can be checked: the message, the remedy, and the status to exit with."""

    def __init__(self, message, remedy, status=5):
        super().__init__(f"{message}\n  -> {remedy}")
        self.status = status


class Driver(typing.NamedTuple):
    version: str  # as nvidia-smi has it, or "unknown"
    cuda: int     # the newest that it serves: 12040 is 12.4
    gpus: int

    def cuda_text(self):
        return f"{self.cuda // 1000}.{self.cuda % 1000 // 10}"


def ask_libcuda():
    """{"cuda", "gpus", "error"}: error is cuInit's, or None where there is no libcuda.so.1."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return {"cuda": 0, "gpus": 0, "error": None}
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    library.cuDriverGetVersion(ctypes.byref(version))
    error = library.cuInit(0)
    if error == 0:
        error = library.cuDeviceGetCount(ctypes.byref(count))
    return {"cuda": version.value, "gpus": count.value, "error": error}


def read_driver(run):
    """The driver, or Unusable. `run`: of a command and seconds, its Outcome."""
    remedy = ("install NVIDIA's driver, or start the container with the NVIDIA runtime (--gpus all); "
              "--emulated tries the script without a GPU")
    asked = run([sys.executable, "-B", pathlib.Path(__file__).resolve()], 60)
    if asked.code is None:
        raise Unusable("NVIDIA's driver does not answer within 60 s", "check nvidia-smi and the kernel's log (dmesg)")
    if asked.code != 0:
        raise Unusable("libcuda.so.1 cannot be asked: " + asked.last_line(), remedy)
    found = json.loads(asked.output)
    if found["error"] is None:
        raise Unusable("there is no NVIDIA driver here (libcuda.so.1)", remedy)
    driver = Driver(driver_version(run), found["cuda"], found["gpus"])
    if found["error"] != 0 or driver.gpus == 0:
        error = found["error"] or 100
        raise Unusable(f"NVIDIA's driver {driver.version} finds no GPU (cuInit: {error})",
                       FAULTS.get(error, "check nvidia-smi; --emulated tries the script without a GPU"))
    return driver


def driver_version(run):
    found = run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], 20)
    if found.code == 0 and found.output.strip():
        return found.output.split()[0]
    file = pathlib.Path("/proc/driver/nvidia/version")
    numbers = re.search(r"\d+\.\d+[.\d]*", file.read_text()) if file.exists() else None
    return numbers[0] if numbers else "unknown"


class Toolkit(typing.NamedTuple):
    """How ptbench is built: scripts/build's preset, variables of its environment, and whether
    scripts/cuda_toolkit is to bring NVIDIA's wheels before."""
    preset: str
    environment: dict
    is_brought: bool = False


def toolkit_for(driver, root, run):
    """The toolkit to build with, or Unusable where the driver serves none that there is."""
    major = min(driver.cuda // 1000, BUILT_FOR)
    if major < min(LEAST_DRIVER):
        raise Unusable(f"driver {driver.version} is too old: it serves CUDA up to {driver.cuda_text()}",
                       f"install driver {LEAST_DRIVER[BUILT_FOR]} or later")
    for nvcc in compilers(root):
        if LEAST_TOOLKIT <= version_of(nvcc, run) < (major + 1, 0) and has_cudnn(nvcc):
            return Toolkit("release" if major == BUILT_FOR else f"cuda{major}", {"CUDACXX": str(nvcc)})
    if major == BUILT_FOR:
        return Toolkit("release", {"CUDACXX": str(root / "build" / "_deps" / "cuda" / "bin" / "nvcc")}, True)
    raise Unusable(
        f"driver {driver.version} serves CUDA up to {driver.cuda_text()}; ptbench is built for CUDA {BUILT_FOR}, which "
        f"needs driver {LEAST_DRIVER[BUILT_FOR]} or later, and no toolkit of CUDA {major} with cuDNN 9 is here",
        f"install driver {LEAST_DRIVER[BUILT_FOR]} or later, or CUDA 12.4 to 12.9 with cuDNN 9 (NVIDIA's packages "
        "cuda-toolkit-12-8 and libcudnn9-dev-cuda-12; CUDACXX names another nvcc); on a data-centre GPU "
        "cuda-compat-13-0 in LD_LIBRARY_PATH does, too")


def compilers(root):
    """Every nvcc: first where CMake looks for one, and in its order."""
    named = [os.environ.get("CUDACXX"), shutil.which("nvcc")]
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda",
             root / "build" / "_deps" / "cuda", *sorted(pathlib.Path("/usr/local").glob("cuda-*"), reverse=True)]
    found = [pathlib.Path(path) for path in named if path]
    found += [pathlib.Path(home) / "bin" / "nvcc" for home in homes if home]
    return [nvcc for nvcc in dict.fromkeys(found) if os.access(nvcc, os.X_OK)]


def version_of(nvcc, run):
    """(13, 0), or (0, 0) where it does not say."""
    numbers = re.search(r"release (\d+)\.(\d+)", run([nvcc, "--version"], 20).output)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def has_cudnn(nvcc):
    """Whether CMake finds cuDNN's header beside this nvcc."""
    homes = [os.environ.get("CUDNN_ROOT"), os.environ.get("CUDNN_PATH"), nvcc.resolve().parent.parent,
             "/usr/local/cuda", "/usr/local", "/usr"]
    return any((pathlib.Path(home) / "include" / folder / "cudnn_graph.h").is_file()
               for home in homes if home for folder in ("", "x86_64-linux-gnu"))


def forget_configuration(build):
    """Of a build folder without the CUDA module: CMake would not look for a compiler again."""
    configured = build / "build.ninja"
    if configured.is_file() and b"libptbench_cuda.so" not in configured.read_bytes():
        configured.unlink()
        (build / "CMakeCache.txt").unlink(missing_ok=True)


def require_module(build, driver):
    """Refuses a module that was built for a newer CUDA than the driver serves."""
    needed = re.search(rb"libcudart\.so\.(\d+)", module_bytes(build))
    if needed and int(needed[1]) > driver.cuda // 1000:
        raise Unusable(f"{build} was built for CUDA {int(needed[1])}, and driver {driver.version} serves CUDA up to "
                       f"{driver.cuda_text()}", "leave --no-build out, or name a build for an older CUDA with --build")


def module_bytes(build):
    file = build / "lib" / "ptbench" / "libptbench_cuda.so"
    return file.read_bytes() if file.is_file() else b""


if __name__ == "__main__":
    print(json.dumps(ask_libcuda()))
