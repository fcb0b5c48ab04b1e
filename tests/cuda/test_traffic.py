"""Kernels move no more of the device's memory than their headers say, counted on an emulated device.

    python3 tests/cuda/test_traffic.py EMULATE_GPU MODULE TEST_PROGRAM
"""
import os
import re
import subprocess
import sys
import unittest

EMULATE, MODULE, PROGRAM = sys.argv[1:4]
LINE = re.compile(r"count: (\d+) × kernel (\w+).*: (\d+) bytes read, (\d+) bytes written")


def traffic(test):
    """{kernel: (launches, bytes read, bytes written)} of one test."""
    run = subprocess.run([EMULATE, "--count", "--module", MODULE, PROGRAM, test], capture_output=True,
                         text=True, env=os.environ | {"PTBENCH_TEST_DEVICE": "cuda:0"})
    if run.returncode != 0:
        raise AssertionError(run.stdout + run.stderr)
    return {name: tuple(int(number) for number in (launches, read, written))
            for launches, name, read, written in LINE.findall(run.stderr)}


class BatchNorm(unittest.TestCase):
    def test_each_pass_reads_a_tensor_once(self):
        channel = 4 * 17  # bytes of a value for each channel
        image = channel * 4 * 5 * 5
        slices = 4 * 2 * channel  # two values of each of four slices: 100 rows, 32 at a time
        counted = traffic("batch norm survives a mean far from zero")
        self.assertEqual(counted, {
            "moments_kernel": (1, image, slices),
            "statistics_kernel": (1, slices + 2 * channel, 4 * channel),
            "normalize_kernel": (1, image + 4 * channel, image),
            "gradient_sums_kernel": (1, 2 * image + channel, slices),
            "parameter_gradients_kernel": (1, slices + channel, 4 * channel),
            "input_gradient_kernel": (1, 2 * image + 5 * channel, image),
        })

    def test_packs_and_bits_of_the_rectifier(self):
        channel = 4 * 48
        image = 2 * 48 * 2 * 5 * 5
        bits = image // 16
        slices = 2 * channel  # two values of one slice
        counted = traffic("batch norm that adds and rectifies gives gradients where its output is positive")
        self.assertEqual(counted, {
            "moments_kernel": (1, image, slices),
            "statistics_kernel": (1, slices + 2 * channel, 4 * channel),
            "normalize_kernel": (1, 2 * image + 4 * channel, image + bits),
            "gradient_sums_kernel": (1, 3 * image + bits + channel, slices + image),
            "parameter_gradients_kernel": (1, slices + channel, 4 * channel),
            "input_gradient_kernel": (1, 2 * image + 5 * channel, image),
        })


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
