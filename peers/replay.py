"""Replays a run of ptbench in PyTorch and compares the losses, step by step.

    python replay.py [--workload mlp|linear] [--optimizer sgd|adam|adamw] [--data DIR] [--steps N] [--ptbench PATH]

Both sides start from the same weights (ptbench draws and saves them), take the same batches (index
order, IDX files) and make the same updates. Exits with 0 if every loss agrees to
1e-5 * max(1, loss), else with 1. Needs torch and numpy; nothing of ptbench but its executable.
"""

import argparse
import csv
import gzip
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch
import torch.nn.functional as F

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
TOLERANCE = 1e-5
BATCH = {"linear": 32, "mlp": 128}
LAYERS = {"linear": ["fc"], "mlp": ["fc1", "fc2", "fc3"]}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptbench", default=str(REPOSITORY / "build" / "release" / "ptbench"))
    parser.add_argument("--workload", choices=BATCH, default="mlp")
    parser.add_argument("--data", help="directory of IDX files (default: the digits of the tests; "
                                       "for linear, which has two classes, files made up here)")
    parser.add_argument("--optimizer", choices=["sgd", "adam", "adamw"], default="sgd")
    parser.add_argument("--lr", type=float, help="default: 0.01 for sgd, else 0.001")
    parser.add_argument("--momentum", type=float, default=0.9, help="of sgd")
    parser.add_argument("--weight-decay", type=float, help="default: 0.01 for adamw, else 0")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=1, help="of both sides")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.lr is None:
        arguments.lr = 0.01 if arguments.optimizer == "sgd" else 0.001
    if arguments.weight_decay is None:
        arguments.weight_decay = 0.01 if arguments.optimizer == "adamw" else 0.0
    return arguments


# Data

def write_idx(path, array):
    """Writes bytes as an IDX file: two zeros, type 8, rank, big-endian dimensions, values."""
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


def make_two_classes(directory):
    """10 inputs, 2 classes that differ in brightness, noisy enough that no loss reaches zero."""
    generator = np.random.default_rng(1)
    for part, samples in (("train", 200), ("t10k", 40)):
        labels = generator.integers(0, 2, samples)
        images = generator.integers(0, 180, (samples, 2, 5)) + labels[:, None, None] * 60
        write_idx(directory / f"{part}-images-idx3-ubyte", images)
        write_idx(directory / f"{part}-labels-idx1-ubyte", labels)


def read_idx(directory, name):
    plain = pathlib.Path(directory) / name
    packed = plain.with_name(name + ".gz")
    contents = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    rank = contents[3]
    shape = struct.unpack(f">{rank}I", contents[4:4 + 4 * rank])
    return np.frombuffer(contents, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_data(directory):
    """Inputs (samples x features) with zero mean and unit variance over the training set; labels."""
    images = read_idx(directory, "train-images-idx3-ubyte").astype(np.float64) / 255
    labels = read_idx(directory, "train-labels-idx1-ubyte").astype(np.int64)
    inputs = (images - images.mean()) / images.std()
    return (torch.from_numpy(inputs.reshape(len(inputs), -1).astype(np.float32)),
            torch.from_numpy(labels))


# The two sides

def read_safetensors(path):
    """name -> tensor, from the format's definition: length, JSON header, little-endian data."""
    contents = pathlib.Path(path).read_bytes()
    (length,) = struct.unpack("<Q", contents[:8])
    header = json.loads(contents[8:8 + length])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        values = np.frombuffer(contents[begin:end], "<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return tensors


def run_ptbench(arguments, data, directory):
    """Returns ptbench's losses and the weights that it started from."""
    weights, losses = directory / "initial.safetensors", directory / "losses.csv"
    # Everything is said, so that no default of ptbench can differ from this script's.
    command = [arguments.ptbench, "run", "--workload", arguments.workload, "--strategy", "serial",
               "--device", "cpu", "--threads", str(arguments.threads), "--precision", "fp32",
               "--batch-size", str(BATCH[arguments.workload]), "--data", str(data),
               "--shuffle", "off", "--steps", str(arguments.steps), "--warmup", "0",
               "--seed", str(arguments.seed), "--optimizer", arguments.optimizer,
               "--lr", str(arguments.lr), "--weight-decay", str(arguments.weight_decay),
               "--save-initial-weights", str(weights), "--loss-log", str(losses)]
    if arguments.optimizer == "sgd":
        command += ["--momentum", str(arguments.momentum)]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(command)}\nended with {finished.returncode}:\n{finished.stderr}")
    with open(losses, newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)], read_safetensors(weights)


def make_optimizer(arguments, parameters):
    if arguments.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=arguments.lr, momentum=arguments.momentum,
                               weight_decay=arguments.weight_decay)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[arguments.optimizer]
    return kind(parameters, lr=arguments.lr, weight_decay=arguments.weight_decay)


def replay(arguments, inputs, labels, weights, precision=torch.float32):
    """The losses of the same steps in PyTorch; `weights` stay as they are."""
    torch.set_num_threads(arguments.threads)
    layers = LAYERS[arguments.workload]
    expected = {f"{layer}.{kind}" for layer in layers for kind in ("weight", "bias")}
    if set(weights) != expected:
        sys.exit(f"the saved weights are {sorted(weights)}, not {sorted(expected)}")
    parameters = {name: tensor.to(precision, copy=True).requires_grad_()
                  for name, tensor in weights.items()}
    inputs = inputs.to(precision)
    optimizer = make_optimizer(arguments, list(parameters.values()))
    batch = BATCH[arguments.workload]
    full_batches = len(inputs) // batch
    losses = []
    for step in range(arguments.steps):
        begin = step % full_batches * batch
        values = inputs[begin:begin + batch]
        for layer in layers:
            values = F.linear(values, parameters[f"{layer}.weight"], parameters[f"{layer}.bias"])
            if layer != layers[-1]:
                values = F.relu(values)
        loss = F.cross_entropy(values, labels[begin:begin + batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def relative_difference(a, b):
    # A loss that is not a number agrees with nothing.
    return abs(a - b) / max(1.0, abs(b)) if np.isfinite([a, b]).all() else float("inf")


def worst_difference(losses, expected):
    return max(map(relative_difference, losses, expected))


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        data = arguments.data
        if data is None and arguments.workload == "mlp":
            data = REPOSITORY / "tests" / "data" / "digits"
        elif data is None:
            make_two_classes(directory)
            data = directory
        ours, weights = run_ptbench(arguments, data, directory)
        samples = read_data(data)
        theirs = replay(arguments, *samples, weights)
        exact = replay(arguments, *samples, weights, torch.float64)
    if len(ours) != len(theirs):
        sys.exit(f"ptbench logged {len(ours)} losses for {len(theirs)} steps")
    print("step,ptbench,pytorch,relative_difference")
    for step, (a, b) in enumerate(zip(ours, theirs)):
        print(f"{step},{a:.9g},{b:.9g},{relative_difference(a, b):.3g}")
    worst = worst_difference(ours, theirs)
    passed = worst <= TOLERANCE
    print(f"{arguments.workload} with {arguments.optimizer}, lr {arguments.lr:g}: worst difference "
          f"{worst:.3g} of max(1, loss), {'within' if passed else 'ABOVE'} {TOLERANCE:g}")
    print(f"for comparison, PyTorch against itself in double: {worst_difference(theirs, exact):.3g}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
