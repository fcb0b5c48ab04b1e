#!/usr/bin/env python3
"""Remedies for data that are not as ptbench reads them work when they are pasted into a shell, one after the
other, until the training runs. Skipped without numpy, here or in the environment of scripts/peers."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / "build" / "peers" / "venv" / "bin" / "python"
PTBENCH = os.environ.get("PTBENCH_TEST_EXECUTABLE")
SKIPPED = 77
MOST_REMEDIES = 8

# Each makes the directory of its name, in the folder it runs in: x, y have 40 rows, the test set 20 of them.
CASES = {
    "structured": "s = np.zeros(40, [('x', 'f4', (784,)), ('y', 'i8')]); s['x'] = x; npy(s, y)",
    "object": "o = np.empty(40, object); o[:] = [list(row) for row in x]; npy(o, y)",
    "one_hot": "npy(x, np.eye(10, dtype='f4')[y])",
    "label_column": "npy(x, y.reshape(-1, 1))",
    "label_floats": "npy(x, y.astype('f8'))",
    "float64": "npy(x.astype('f8'), y)",
    "big_endian": "npy(x.astype('>f4'), y.astype('>i8'))",
    "fortran": "npy(np.asfortranarray(x), y)",
    "nan": "npy(np.where(np.arange(784) == 3, np.nan, x).astype('f4'), y)",
    "images_28x28": "npy(bytes_of(40, 28, 28), y)",
    "gzip": "npy(x.astype('f8'), y)\n"
            "for f in os.listdir('.'): gzip.open(f + '.gz', 'wb').write(open(f, 'rb').read()); os.remove(f)",
    "keras_names": "npy(x, y)\nfor p in ('train', 'test'):\n"
                   "  for s in 'xy': os.rename(p + '_' + s + '.npy', s + '_' + p + '.npy')",
    "archive": "np.savez('mnist.npz', x_train=bytes_of(40, 28, 28), y_train=y, x_test=bytes_of(20, 28, 28), "
               "y_test=y[:20])",
    "idx_float32": "idx((bytes_of(40, 28, 28) / 255).astype('f4'), y.astype('u1'))",
    "idx_int32_labels": "idx(bytes_of(40, 28, 28), y.astype('i4'))",
    "idx_label_column": "idx(bytes_of(40, 28, 28), y.astype('u1').reshape(-1, 1))",
    "idx_one_channel": "idx(bytes_of(40, 1, 28, 28).astype('i2'), y.astype('u1'))",
    "idx_below": "os.makedirs('MNIST/raw'); os.chdir('MNIST/raw'); idx(bytes_of(40, 28, 28), y.astype('u1'))",
    "idx_dots": "idx(bytes_of(40, 28, 28), y.astype('u1'), '.')",
    "channels_last": "npy(bytes_of(40, 32, 32, 3), y)",
}
MAKE = """
import gzip, os, struct, sys
import numpy as np
random = np.random.default_rng(0)
x, y = random.standard_normal((40, 784)).astype('f4'), np.arange(40) % 10
def bytes_of(*shape): return random.integers(0, 256, shape, 'u1')
def npy(x, y):
    for part, rows in (('train', 40), ('test', 20)):
        np.save(part + '_x.npy', x[:rows]); np.save(part + '_y.npy', y[:rows])
def idx(images, labels, dash='-'):
    codes = {'u1': 8, 'i1': 9, 'i2': 11, 'i4': 12, 'f4': 13}
    for part, rows in (('train', 40), ('t10k', 20)):
        for name, a in ((part + '-images' + dash + 'idx3-ubyte', images[:rows]),
                        (part + '-labels' + dash + 'idx1-ubyte', labels[:rows])):
            head = struct.pack('>BBBB', 0, 0, codes[a.dtype.str[1:]], a.ndim) + struct.pack('>%dI' % a.ndim, *a.shape)
            open(name, 'wb').write(head + a.astype(a.dtype.newbyteorder('>')).tobytes())
os.makedirs(sys.argv[1]); os.chdir(sys.argv[1])
exec(sys.argv[2])
"""


def python_with_numpy():
    for python in (sys.executable, PEERS):
        if pathlib.Path(python).exists() and subprocess.run(
                [python, "-c", "import numpy"], capture_output=True).returncode == 0:
            return pathlib.Path(python)
    return None


PYTHON = python_with_numpy()


class Remedies(unittest.TestCase):
    def train(self, folder, data, workload):
        return subprocess.run(
            [PTBENCH, "run", "-w", workload, "--data", data, "-b", "8", "--steps", "2", "--threads", "1"],
            cwd=folder, text=True, capture_output=True, timeout=300,
            env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")})

    def paste(self, folder, remedy):
        """The --data that the remedy names, or None, after its command has run."""
        meant = re.search(r"did you mean --data (\S+)\?", remedy) or re.search(r", and give --data (\S+)$", remedy)
        command = re.search(r"(python3 -c .*|\(cd .*?\))(?=$|, and give)", remedy)
        if command:
            pasted = subprocess.run(["sh", "-c", command[0]], cwd=folder, text=True, capture_output=True, timeout=300,
                                    env={**os.environ, "PATH": f"{PYTHON.parent}:{os.environ['PATH']}"})
            self.assertEqual(pasted.returncode, 0, f"{command[0]}\n{pasted.stderr}")
        self.assertTrue(meant or command, remedy)
        return meant and meant[1]

    def test_remedies_work_when_they_are_pasted(self):
        for name, make in CASES.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as temporary:
                folder, data = pathlib.Path(temporary), "it's data"
                subprocess.run([PYTHON, "-c", MAKE, data, make], cwd=folder, check=True)
                if name in ("idx_below", "keras_names"):
                    data = "data"
                    (folder / "it's data").rename(folder / data)
                workload = "resnet18" if name == "channels_last" else "mlp"
                for remedies in range(MOST_REMEDIES + 1):
                    result = self.train(folder, data, workload)
                    if result.returncode == 0:
                        break
                    self.assertEqual(result.returncode, 1, result.stderr)
                    said = re.search(r"ptbench: remedy: (.*)", result.stderr)
                    self.assertTrue(said, result.stderr)
                    data = self.paste(folder, said[1]) or data
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertGreater(remedies, 0)


if __name__ == "__main__":
    if not PTBENCH or PYTHON is None:
        print(f"skipped: there is no numpy for {sys.executable}, nor for {PEERS}; scripts/peers makes that")
        sys.exit(SKIPPED)
    unittest.main()
