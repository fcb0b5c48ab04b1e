"""A toolkit of the wheels in cmake/cuda_wheels.txt has every library that its libraries open by name.

    tests/install/test_toolkit_libraries.py [TOOLKIT]

TOOLKIT is a folder that has these wheels and their records, by default that of scripts/cuda_toolkit. What it
has beyond them does not count. Ends with 77 where it is of no such wheels.
"""
import functools
import mmap
import pathlib
import re
import struct
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLKIT = ROOT / "build" / "_deps" / "cuda"
SKIPPED = 77
NO_BITS = 8  # type of a section of which the file has nothing

# What a toolkit need not have, and why.
ELSEWHERE = {
    "glibc, GCC's runtime and zlib are the system's":
        {"libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1", "libutil.so.1",
         "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1"},
    "NVIDIA's driver brings them":
        {"libcuda.so", "libcuda.so.1", "libnvidia-ml.so.1", "libnvidia-cfg.so.1", "libnvidia-opencl.so",
         "libnvidia-opencl.so.1", "libnvidia-vksc-core.so", "libnvidia-vksc-core.so.1", "libnvoptix.so",
         "libnvoptix.so.1", "libEGL_nvidia.so.0", "libGLX_nvidia.so.0"},
    "CUPTI looks whether the program that it observes draws or uses OpenCL":
        {"libEGL.so", "libEGL.so.1", "libGL.so", "libGL.so.1", "libVulkan_EGL.so.1", "libX11.so", "libX11.so.6",
         "libOpenCL.so", "libOpenCL.so.1"},
    "NCCL sends over InfiniBand where they are, and over sockets where they are not":
        {"libibverbs.so", "libibverbs.so.1", "libmlx5.so.1", "libgdrapi.so.2"},
    "NVIDIA publishes it nowhere; cuDNN goes on without":
        {"libcask_profile_interface.so"},
}


def listed_wheels():
    """The names of their records: "nvidia_cublas-13.1.0.3"."""
    text = (ROOT / "cmake" / "cuda_wheels.txt").read_text(encoding="utf-8")
    return [f"{package.replace('-', '_')}-{version}"
            for package, version in re.findall(r"^([\w-]+)==(\S+)", text, re.MULTILINE)]


def records_of(toolkit):
    """{wheel: lines of its record} of the listed wheels that a toolkit has."""
    paths = {wheel: list(toolkit.glob(f"*/{wheel}.dist-info/RECORD")) for wheel in listed_wheels()}
    return {wheel: found[0].read_text(encoding="utf-8").splitlines() for wheel, found in paths.items() if found}


def libraries_of(record):
    """The names of a wheel's shared libraries."""
    paths = [pathlib.PurePath(line.split(",")[0]) for line in record]
    return {path.name for path in paths if re.search(r"\.so(\.\d+)*$", path.name)}


def held(libraries):
    """These and the names without a version that scripts/cuda_toolkit gives them."""
    return libraries | {re.sub(r"\.so\..*", ".so", name) for name in libraries}


def sections(elf):
    """(name, begin, end) of every section of a 64-bit ELF file."""
    table = struct.unpack_from("<Q", elf, 40)[0]
    size, count, names = struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + index * size) for index in range(count)]
    texts = headers[names][4]
    for name, kind, _, _, offset, length in headers:
        begin = texts + name
        yield elf[begin:elf.find(b"\0", begin)].decode(), offset, offset + (0 if kind == NO_BITS else length)


def names_in(text, begin, end):
    """The names of libraries with which C strings in text[begin:end] end, also those of paths and messages."""
    for suffix in re.compile(rb"\.so(?:\.\d+)*\0").finditer(text, begin, end):
        before = text[max(begin, suffix.start() - 80):suffix.end() - 1]
        if name := re.search(rb"(?<![\w.+-])lib[\w.+-]+$", before):
            yield name[0].decode()


@functools.lru_cache(maxsize=None)
def opened_by(path):
    """What a library needs, and what it may open by name."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as elf:
        return frozenset(library for name, begin, end in sections(elf) if name in (".dynstr", ".rodata")
                         for library in names_in(elf, begin, end))


def missing(toolkit, records):
    """{library that nobody brings: those that open it} of a toolkit of the wheels that have these records."""
    libraries = set().union(*map(libraries_of, records.values()))
    there = held(libraries).union(*ELSEWHERE.values())
    found = {}
    for library in sorted(libraries):
        for name in opened_by(toolkit / "lib" / library) - there:
            found.setdefault(name, []).append(library)
    return found


class Names(unittest.TestCase):
    def test_they_end_strings(self):
        text = (b"libfirst.so\0/usr/lib64/libnvidia-ml.so.1\0Failed to open libgdrapi.so.2\0libc++.so\0"
                b"Make sure that libnvrtc-builtins.so.13.0 is installed.\0libnvrtc.so.%d\0x.so\0zlib.so\0")
        self.assertEqual(list(names_in(text, 0, len(text))),
                         ["libfirst.so", "libnvidia-ml.so.1", "libgdrapi.so.2", "libc++.so"])
        self.assertEqual(list(names_in(text, 12, len(text)))[0], "libnvidia-ml.so.1")

    def test_a_library_has_that_without_a_version_too(self):
        self.assertEqual(held({"libnvrtc-builtins.so.13.0", "libnvperf_host.so"}),
                         {"libnvrtc-builtins.so.13.0", "libnvrtc-builtins.so", "libnvperf_host.so"})


class Toolkit(unittest.TestCase):
    def setUp(self):
        self.records = records_of(TOOLKIT)

    def test_it_has_what_its_libraries_open(self):
        self.assertEqual(missing(TOOLKIT, self.records), {},
                         f"in {TOOLKIT}: add the wheel that has it to cmake/cuda_wheels.txt, and run "
                         "scripts/cuda_toolkit; or say in ELSEWHERE why it need not be there")

    def test_a_wheel_that_is_left_out_is_missed(self):
        without = {wheel: record for wheel, record in self.records.items() if "_nvrtc-" not in wheel}
        found = missing(TOOLKIT, without)
        self.assertIn("libcudnn_engines_precompiled.so.9", found["libnvrtc.so.13"])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        TOOLKIT = pathlib.Path(sys.argv.pop(1))
    if not any("cudnn" in wheel for wheel in records_of(TOOLKIT)):
        print(f"skipped: {TOOLKIT} is not of the wheels in cmake/cuda_wheels.txt")
        sys.exit(SKIPPED)
    unittest.main()
