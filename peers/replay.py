"""Replays a run of ptbench in PyTorch and compares the losses, step by step.

    python replay.py [--workload NAME] [--precision fp32|bf16] [--optimizer sgd|adam|adamw]
                     [--batch B] [--data DIR] [--steps N] [--ptbench PATH]

Both sides start from the same weights (ptbench draws and saves them), take the same batches (index
order) and make the same updates; bf16 is autocast in PyTorch. Exits with 0 if every loss agrees to
the tolerance times max(1, loss), else with 1. The tolerance is 1e-5, or 2e-3 with batch norm (which
divides by the deviations of a few samples, and so grows rounding), or 3e-2 in bf16. Needs torch,
safetensors and numpy (scripts/peers brings them); nothing of ptbench but its executable.
"""

import argparse
import csv
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import safetensors.torch
import torch
import torch.nn.functional as F

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "peers" / "pytorch"))

import batches  # noqa: E402
import models  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptbench", default=str(REPOSITORY / "build" / "release" / "ptbench"))
    parser.add_argument("--workload", choices=models.BUILD, default="mlp")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--batch", type=int, help="default: the workload's; 16 and 2 for ResNets")
    parser.add_argument("--data", help="directory of IDX files (default: the digits of the tests; "
                                       "for linear, which has two classes, and for ResNets, files "
                                       "made up here)")
    parser.add_argument("--optimizer", choices=["sgd", "adam", "adamw"], default="sgd")
    parser.add_argument("--lr", type=float, help="default: 0.01 for sgd, else 0.001")
    parser.add_argument("--momentum", type=float, default=0.9, help="of sgd")
    parser.add_argument("--weight-decay", type=float, help="default: 0.01 for adamw, else 0")
    parser.add_argument("--steps", type=int, help="default: 30, or 5 for ResNets")
    parser.add_argument("--threads", type=int, default=1, help="of both sides")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.lr is None:
        arguments.lr = 0.01 if arguments.optimizer == "sgd" else 0.001
    if arguments.weight_decay is None:
        arguments.weight_decay = 0.01 if arguments.optimizer == "adamw" else 0.0
    images = models.images_of(arguments.workload)
    if arguments.batch is None:
        arguments.batch = {"resnet18": 16, "resnet50": 2}.get(arguments.workload,
                                                              models.BATCH[arguments.workload])
    if arguments.steps is None:
        arguments.steps = 5 if images else 30
    arguments.tolerance = 3e-2 if arguments.precision == "bf16" else 2e-3 if images else 1e-5
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


def make_images(arguments, directory):
    """float32 NPY files, which ptbench takes as they are; as many samples as the steps need."""
    generator = np.random.default_rng(1)
    for part, samples in (("train", arguments.batch * arguments.steps), ("test", 1)):
        shape = (samples, *models.INPUT[arguments.workload])
        np.save(directory / f"{part}_x.npy", generator.standard_normal(shape, dtype=np.float32))
        np.save(directory / f"{part}_y.npy",
                generator.integers(0, models.CLASSES[arguments.workload], samples))


def read_data(directory):
    """Inputs as ptbench trains on them, and labels."""
    arrays = batches.read_directory(pathlib.Path(directory))
    return torch.from_numpy(arrays.inputs), torch.from_numpy(arrays.labels)


# The two sides

def run_ptbench(arguments, data, directory):
    """Returns ptbench's losses and the weights that it started from."""
    weights, losses = directory / "initial.safetensors", directory / "losses.csv"
    # Everything is said, so that no default of ptbench can differ from this script's.
    command = [arguments.ptbench, "run", "--workload", arguments.workload, "--strategy", "serial",
               "--device", "cpu", "--threads", str(arguments.threads),
               "--precision", arguments.precision, "--verify", "off",
               "--batch-size", str(arguments.batch), "--data", str(data),
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
        return [float(row["loss"]) for row in csv.DictReader(file)], safetensors.torch.load_file(weights)


def make_optimizer(arguments, parameters):
    if arguments.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=arguments.lr, momentum=arguments.momentum,
                               weight_decay=arguments.weight_decay)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[arguments.optimizer]
    return kind(parameters, lr=arguments.lr, weight_decay=arguments.weight_decay)


def load_model(arguments, inputs, weights, precision):
    """The model with ptbench's weights; every tensor must have its place."""
    width = () if models.images_of(arguments.workload) else (inputs.shape[1],)
    model = models.BUILD[arguments.workload](*width)
    try:
        models.load_weights(model, weights)
    except ValueError as error:
        sys.exit(str(error))
    return model.to(precision)


def replay(arguments, inputs, labels, weights, precision=torch.float32):
    """The losses of the same steps in PyTorch; `weights` stay as they are."""
    torch.set_num_threads(arguments.threads)
    model = load_model(arguments, inputs, weights, precision)
    inputs = inputs.to(precision)
    optimizer = make_optimizer(arguments, model.parameters())
    batch = arguments.batch
    full_batches = len(inputs) // batch
    narrow = arguments.precision if precision == torch.float32 else "none"
    losses = []
    for step in range(arguments.steps):
        begin = step % full_batches * batch
        with models.autocast(narrow):
            loss = F.cross_entropy(model(inputs[begin:begin + batch]), labels[begin:begin + batch])
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
        if data is None and models.images_of(arguments.workload):
            make_images(arguments, directory)
            data = directory
        elif data is None and arguments.workload == "mlp":
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
    passed = worst <= arguments.tolerance
    print(f"{arguments.workload} {arguments.precision} with {arguments.optimizer}, lr "
          f"{arguments.lr:g}: worst difference {worst:.3g} of max(1, loss), "
          f"{'within' if passed else 'ABOVE'} {arguments.tolerance:g}")
    print(f"from the same steps in PyTorch in double: ptbench {worst_difference(ours, exact):.3g}, "
          f"PyTorch {worst_difference(theirs, exact):.3g}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
