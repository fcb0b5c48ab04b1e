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


class Documents(unittest.TestCase):
    TABLE = {("a.cu", "f<1>"): {80: HEALTHY, 90: HEALTHY._replace(registers=40)},
             ("a.cu", "f<4>"): {80: HEALTHY._replace(registers=32, shared=1024), 90: HEALTHY}}

    def test_variants_of_a_kernel_are_one_row(self):
        lines = kernel_table.document(self.TABLE, "13.0").splitlines()
        self.assertIn("nvcc 13.0 for sm_80, sm_90.", lines)
        self.assertEqual(lines[-2:], ["| **a.cu** | | | | | |",
                                      "| `f` | 2 | 256 | 0–1024 | 32–64, 50–100 % | 40–64, 50–75 % |"])

    def test_local_memory_is_told(self):
        table = {("a.cu", "f<4>"): {80: HEALTHY._replace(local=8)}}
        self.assertIn("64, 8 bytes of local memory, 50 %", kernel_table.document(table, "13.0"))

    def test_the_file_has_each_variant_and_architecture(self):
        self.assertEqual(kernel_table.variants(self.TABLE).splitlines()[1:], [
            'a.cu,"f<1>",sm_80,256,0,64,0,4,0.5', 'a.cu,"f<1>",sm_90,256,0,40,0,6,0.75',
            'a.cu,"f<4>",sm_80,256,1024,32,0,8,1', 'a.cu,"f<4>",sm_90,256,0,64,0,4,0.5'])


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
