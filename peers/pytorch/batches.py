"""The batches that ptbench trains on, bit by bit: its synthetic data, its files, its order of samples.

As src/data/synthetic.cpp, src/data/sampler.cpp and src/base/random.cpp have them: counter-based random
numbers (Philox4x32-10), so that every value is a function of seed, stream and index.
"""

from __future__ import annotations

import gzip
import pathlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

STREAM_SAMPLES, STREAM_LABELS, STREAM_SHUFFLE, STREAM_PATTERN = 2, 3, 4, 5
PATTERN_STRENGTH = np.float32(0.5)
_LOW = np.uint64(0xFFFFFFFF)
_WORD = np.uint64(32)


def philox_words(seed: int, stream: int, index: np.ndarray) -> np.ndarray:
    """Four 32-bit words for each of the indices: shape (…, 4), as uint64."""
    index = index.astype(np.uint64)
    counter = [index & _LOW, index >> _WORD, np.full_like(index, stream & 0xFFFFFFFF),
               np.full_like(index, stream >> 32)]
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        first = counter[0] * np.uint64(0xD2511F53)
        second = counter[2] * np.uint64(0xCD9E8D57)
        counter = [(second >> _WORD) ^ counter[1] ^ np.uint64(key[0]), second & _LOW,
                   (first >> _WORD) ^ counter[3] ^ np.uint64(key[1]), first & _LOW]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(counter, axis=-1)


def normal_rows(seed: int, stream: int, rows: np.ndarray, elements: int) -> np.ndarray:
    """Rows of an endless table of standard normal values: float32, (rows, elements)."""
    draws = (elements + 3) // 4
    index = rows.astype(np.uint64)[:, None] * np.uint64(draws) + np.arange(draws, dtype=np.uint64)
    uniform = (philox_words(seed, stream, index).astype(np.float64) + 1.0) * 2.0**-32
    radius = np.sqrt(-2.0 * np.log(uniform[..., 0::2]))
    angle = 2.0 * np.pi * uniform[..., 1::2]
    pairs = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    return pairs.reshape(len(rows), -1)[:, :elements].astype(np.float32)


def class_patterns(seed: int, labels: np.ndarray, elements: int) -> np.ndarray:
    """A sign for each element, times the strength: float32, (labels, elements)."""
    draws = (elements + 127) // 128
    index = labels.astype(np.uint64)[:, None] * np.uint64(draws) + np.arange(draws, dtype=np.uint64)
    words = philox_words(seed, STREAM_PATTERN, index).astype("<u4").reshape(len(labels), -1)
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, :elements]
    return np.where(bits == 1, PATTERN_STRENGTH, -PATTERN_STRENGTH)


def synthetic_labels(seed: int, rows: np.ndarray, classes: int) -> np.ndarray:
    words = philox_words(seed, STREAM_LABELS, rows)
    return np.array([((int(word[0]) << 32 | int(word[1])) * classes) >> 64 for word in words], dtype=np.int64)


def shuffled(seed: int, epoch: int, samples: int, count: int) -> np.ndarray:
    """The first `count` indices of an epoch of `samples`, in ptbench's order."""
    per_word = min(max(40 // samples.bit_length(), 1), 4)
    draws = -(-samples // (2 * per_word))
    order = np.arange(samples)
    position, draw = 0, epoch * draws
    while position < count:
        words = [int(word) for word in philox_words(seed, STREAM_SHUFFLE, np.array([draw]))[0]]
        draw += 1
        for half in (0, 2):
            word = words[half] << 32 | words[half + 1]
            stop = min(position + per_word, samples)
            while position < stop:
                product = word * (samples - position)
                ahead = position + (product >> 64)
                word = product & 0xFFFFFFFFFFFFFFFF
                order[[position, ahead]] = order[[ahead, position]]
                position += 1
    return order[:count]


class Synthetic:
    """Drawn where it is asked for."""

    def __init__(self, seed: int, samples: int, shape: Sequence[int], classes: int) -> None:
        self.seed, self.shape, self.classes = seed, tuple(shape), classes
        self.samples = samples

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (float32) and labels (int64) of these samples."""
        elements = int(np.prod(self.shape))
        labels = synthetic_labels(self.seed, rows, self.classes)
        values = normal_rows(self.seed, STREAM_SAMPLES, rows, elements) + class_patterns(self.seed, labels, elements)
        return values.reshape(len(rows), *self.shape), labels


class Arrays:
    """All in memory."""

    def __init__(self, inputs: np.ndarray, labels: np.ndarray, shape: Sequence[int]) -> None:
        self.inputs, self.labels = inputs.reshape(len(inputs), *shape), labels.astype(np.int64)
        self.samples = len(inputs)

    def take(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (float32) and labels (int64) of these samples."""
        return np.ascontiguousarray(self.inputs[rows]), self.labels[rows]


def read_idx(directory: pathlib.Path, name: str) -> np.ndarray:
    """Bytes of an IDX file, plain or packed."""
    plain = directory / name
    contents = plain.read_bytes() if plain.exists() else gzip.decompress((directory / f"{name}.gz").read_bytes())
    rank = contents[3]
    shape = struct.unpack(f">{rank}I", contents[4:4 + 4 * rank])
    return np.frombuffer(contents, np.uint8, offset=4 + 4 * rank).reshape(shape)


def read_directory(directory: pathlib.Path, shape: Sequence[int] | None = None) -> Arrays:
    """IDX files with zero mean and unit variance over the training set, or NPY of float32 as it is.

    `shape` is that of a sample; without it they are as wide as the files have them. Raises ValueError for
    what else ptbench reads (CIFAR-10, NPY of bytes).
    """
    if (directory / "train_x.npy").exists():
        inputs, labels = np.load(directory / "train_x.npy"), np.load(directory / "train_y.npy")
        if inputs.dtype != np.float32:
            raise ValueError(f"{directory}: PyTorch's side takes NPY inputs of float32")
        return Arrays(inputs, labels, shape or inputs.shape[1:])
    if not any((directory / f"train-images-idx3-ubyte{end}").exists() for end in ("", ".gz")):
        raise ValueError(f"{directory}: PyTorch's side takes IDX or NPY files, and finds none there")
    images = read_idx(directory, "train-images-idx3-ubyte").astype(np.float64) / 255
    labels = read_idx(directory, "train-labels-idx1-ubyte")
    inputs = ((images - images.mean()) / images.std()).astype(np.float32)
    return Arrays(inputs, labels, shape or (inputs[0].size,))


@dataclass(frozen=True)
class Split:
    """How the global batch of an optimizer step is cut: micro-batch k of rank r is its slice k·ranks + r."""

    batch: int  # samples in one rank's micro-batch
    accumulate: int = 1
    ranks: int = 1
    rank: int = 0

    def steps_per_epoch(self, samples: int) -> int:
        return samples // (self.batch * self.accumulate * self.ranks)

    def rows(self, order: np.ndarray, step: int) -> list[np.ndarray]:
        """Of this rank's micro-batches of a step of the epoch with this order."""
        begin = step * self.batch * self.accumulate * self.ranks
        firsts = [begin + (part * self.ranks + self.rank) * self.batch for part in range(self.accumulate)]
        return [order[first:first + self.batch] for first in firsts]
