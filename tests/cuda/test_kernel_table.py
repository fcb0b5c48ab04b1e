"""The table of kernels: occupancy as NVIDIA's calculator has it, names, and what is complained of."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "kernel-table"
LOADER = importlib.machinery.SourceFileLoader("kernel_table", str(SCRIPT))
kernel_table = importlib.util.module_from_spec(importlib.util.spec_from_loader("kernel_table", LOADER))
LOADER.exec_module(kernel_table)

HEALTHY = kernel_table.Kernel(registers=64, local=0, shared=0, threads=256)


def complaints(**changes):
    table = {("a.cu", "f<4>"): {80: HEALTHY._replace(**changes)}}
    return list(kernel_table.complaints(table))


class Occupancy(unittest.TestCase):
    def test_each_limit_counts(self):
        for architecture, threads, registers, shared, blocks in [
            (80, 256, 32, 0, 8),         # warps
            (80, 256, 64, 0, 4),         # registers
            (80, 256, 65, 0, 3),         # registers, of which threads get a multiple of 8
            (80, 96, 56, 0, 12),         # 3 of a partition's 9 warps at a time: warps in fours
            (80, 32, 16, 0, 32),         # blocks
            (75, 32, 16, 0, 16),
            (80, 256, 32, 33 << 10, 4),  # shared memory, 1 KiB of each block for the system
            (75, 256, 32, 32 << 10, 2),  # and none there
            (90, 1024, 64, 0, 1),
            (90, 1024, 32, 0, 2),
            (100, 1024, 255, 0, 0),      # cannot run
        ]:
            limits = kernel_table.MULTIPROCESSORS[architecture]
            with self.subTest(architecture=architecture, threads=threads, registers=registers):
                self.assertEqual(limits.blocks_at_once(threads, registers, shared), blocks)

    def test_it_is_the_share_of_warps(self):
        ampere, turing = kernel_table.MULTIPROCESSORS[80], kernel_table.MULTIPROCESSORS[75]
        self.assertEqual(ampere.occupancy(256, 64, 0), 0.5)
        self.assertEqual(turing.occupancy(256, 64, 0), 1)


class Complaints(unittest.TestCase):
    def test_a_healthy_kernel_has_none(self):
        self.assertEqual(complaints(), [])

    def test_spills_low_occupancy_and_no_bounds_are_told(self):
        for changes, words in [
            ({"local": 8}, "a.cu: f<4> on sm_80 uses 8 bytes of local memory"),
            ({"registers": 72}, "a.cu: f<4> on sm_80 fills 38 % of a multiprocessor"),
            ({"shared": 60 << 10}, "fills 25 % of a multiprocessor"),
            ({"threads": 0}, "__launch_bounds__"),
        ]:
            found = complaints(**changes)
            self.assertEqual(len(found), 1)
            self.assertIn(words, found[0])


class Names(unittest.TestCase):
    def test_they_lose_namespaces_casts_and_arguments(self):
        for full, short in [
            ("ptbench::cuda::(anonymous namespace)::rows_kernel(ptbench::cuda::Rows, float*)",
             "rows_kernel"),
            ("void ptbench::cuda::(anonymous namespace)::f<4, (ptbench::cuda::Mask)2, true, "
             "ptbench::Bf16>(ptbench::Bf16 const*, ptbench::cuda::g<(int)4>)", "f<4, 2, true, Bf16>"),
            ("void f<(int)8, (bool)1, (bool)0>(int)", "f<8, true, false>"),
        ]:
            self.assertEqual(kernel_table._short(full), short)


class Attributes(unittest.TestCase):
    def test_those_without_a_size_are_passed_over(self):
        content = bytes([1, 0x50, 0, 0, 3, 0x19, 8, 0, 4, 5, 12, 0]) + bytes(range(12)) + bytes([2, 3, 1, 0])
        self.assertEqual(list(kernel_table._attributes(content)), [(5, bytes(range(12)))])


if __name__ == "__main__":
    unittest.main()
