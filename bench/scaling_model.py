#!/usr/bin/env python3
"""Predicts the efficiency of data-parallel training on many ranks from stated hardware, and compares it
with what others published.

    bench/scaling_model.py            # rewrites the tables of docs/scaling-out.md
    bench/scaling_model.py --check    # exit code 1 where they are not what this file gives

Nothing is fitted: bandwidths are the line rates that the sources name, and what they do not name is an
assumption that the table shows. Only Python's standard library is used.
"""
import argparse
import math
import pathlib
import re
import sys
from typing import NamedTuple, Optional

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent / "docs" / "scaling-out.md"
BLOCK = re.compile(r"(<!-- scaling model: (\w+) -->\n)(.*?)(<!-- /scaling model -->)", re.DOTALL)
MB = 1e6
BACKWARD = 2 / 3  # of a step's computation: two products for each one of forward


class Link(NamedTuple):
    """Between two ranks, or two hosts."""
    latency: float    # seconds a message
    bandwidth: float  # bytes a second, each way


class Cluster(NamedTuple):
    per_host: int
    inside: Link
    between: Link


class Model(NamedTuple):
    name: str
    parameters: float
    samples_per_second: float  # of one device at `batch`
    batch: int                 # of one rank


def ring(size, n, link):
    """Reduce-scatter and all-gather in n - 1 steps each: 2(n - 1)(α + S / (nβ))."""
    return 2 * (n - 1) * (link.latency + size / (n * link.bandwidth))


def tree(size, n, link):
    """Up and down two complementary trees, each with half of it, in pieces: 2⌈log2 n⌉α + 2S/β."""
    return 0.0 if n == 1 else 2 * math.ceil(math.log2(n)) * link.latency + 2 * size / link.bandwidth


def flat(algorithm):
    """Over all ranks at once. Each host's link carries one ring, or one tree."""
    def seconds(size, n, cluster):
        link = cluster.inside if n <= cluster.per_host else cluster.between
        return algorithm(size, n, link)
    return seconds


def leaders(algorithm):
    """Reduced inside each host, by `algorithm` among one leader a host, and back: half of a ring inside
    before, half behind."""
    def seconds(size, n, cluster):
        here = min(n, cluster.per_host)
        return ring(size, here, cluster.inside) + algorithm(size, n // here, cluster.between)
    return seconds


ALGORITHMS = {"ring": flat(ring), "tree": flat(tree), "leaders, ring": leaders(ring),
              "leaders, tree": leaders(tree)}


def step_seconds(model, n, cluster, all_reduce, bucket, overlap=True):
    """Buckets become ready evenly over backward, and are reduced one after the other."""
    compute = model.batch / model.samples_per_second
    if n == 1:
        return compute
    size = 4 * model.parameters
    buckets = max(1, math.ceil(size / bucket))
    forward = compute * (1 - BACKWARD)
    end = 0.0
    for number in range(1, buckets + 1):
        ready = forward + compute * BACKWARD * number / buckets if overlap else compute
        end = max(end, ready) + all_reduce(size / buckets, n, cluster)
    return max(compute, end)


class Published(NamedTuple):
    source: str
    model: Model
    ranks: int
    base: int           # ranks that `efficiency` is relative to
    efficiency: float
    cluster: Cluster
    algorithm: str      # of the library that was measured
    bucket: float
    overlap: bool = True
    note: Optional[str] = None


def predicted(row, algorithm=None):
    def seconds(n):
        return step_seconds(row.model, n, row.cluster, ALGORITHMS[algorithm or row.algorithm], row.bucket,
                            row.overlap)
    return seconds(row.base) / seconds(row.ranks)


# Parameters as their definitions count them. Samples a second of one P100: TensorFlow's benchmarks of
# 2017, synthetic data; ResNet-101 is not among them and lies by its operations between ResNet-50 and -152.
INCEPTION = Model("Inception V3", 23.8e6, 142, 64)
RESNET101 = Model("ResNet-101", 44.5e6, 129, 64)
VGG16 = Model("VGG-16", 138.4e6, 154, 64)
VGG16_SMALL = Model("VGG-16", 138.4e6, 144, 32)
RESNET50_P100 = Model("ResNet-50", 25.6e6, 195, 32)
RESNET50_V100 = Model("ResNet-50", 25.6e6, 350.66, 128)

PCIE = Link(5e-6, 10e9)
NVLINK = Link(5e-6, 40e9)
PASCAL_25 = Cluster(4, PCIE, Link(10e-6, 25e9 / 8))
P100_50 = Cluster(8, NVLINK, Link(20e-6, 50e9 / 8))
P100_56 = Cluster(8, PCIE, Link(5e-6, 56e9 / 8))
V100_100 = Cluster(8, NVLINK, Link(5e-6, 100e9 / 8))
DGX1 = Cluster(8, NVLINK, NVLINK)

FUSED, TORCH = 64 * MB, 25 * MB
ALL = float("inf")
PUBLISHED = [
    Published("T", VGG16, 8, 1, 1081 / (8 * 154), DGX1, "ring", ALL, overlap=False),
    Published("T", VGG16_SMALL, 8, 1, 820 / (8 * 144), DGX1, "ring", ALL, overlap=False),
    Published("D", RESNET50_V100, 8, 1, 7.72 / 8, V100_100, "ring", TORCH),
    Published("D", RESNET50_V100, 16, 1, 14.81 / 16, V100_100, "ring", TORCH),
    Published("D", RESNET50_V100, 32, 1, 28.61 / 32, V100_100, "ring", TORCH),
    Published("H", INCEPTION, 128, 1, 0.90, PASCAL_25, "ring", FUSED),
    Published("H", RESNET101, 128, 1, 0.90, PASCAL_25, "ring", FUSED),
    Published("H", VGG16, 128, 1, 0.79, PASCAL_25, "ring", FUSED),
    Published("H", INCEPTION, 512, 1, 0.90, PASCAL_25, "ring", FUSED),
    Published("H", RESNET101, 512, 1, 0.90, PASCAL_25, "ring", FUSED),
    Published("H", VGG16, 512, 1, 0.68, PASCAL_25, "ring", FUSED),
    Published("G", RESNET50_P100, 256, 8, 0.90, P100_50, "leaders, tree", TORCH),
    Published("A", RESNET50_P100, 1024, 1, 90 * 1_281_167 / 900 / 1024 / 195, P100_56, "ring", ALL,
              overlap=False),
]


def percent(value):
    return f"{100 * value:.0f} %"


def compared():
    lines = ["| source | model, batch a rank | ranks | published | predicted | error, points | by ring | by "
             "tree | leaders, ring | leaders, tree |", "|---|---|---|---|---|---|---|---|---|---|"]
    for row in PUBLISHED:
        own = predicted(row)
        base = "" if row.base == 1 else f" against {row.base}"
        others = " | ".join(percent(predicted(row, name)) for name in ALGORITHMS)
        lines.append(f"| {row.source} | {row.model.name}, {row.model.batch} | {row.ranks}{base} | "
                     f"{percent(row.efficiency)} | {percent(own)} | {100 * (own - row.efficiency):+.0f} | "
                     f"{others} |")
    return lines


def summary():
    """Of those whose hardware the source names."""
    errors = [100 * (predicted(row) - row.efficiency) for row in PUBLISHED if row.source in "HD"]
    return [f"Of the {len(errors)} rows whose network their source names (H, D), the prediction is "
            f"{sum(errors) / len(errors):+.0f} points off on average, {min(errors):+.0f} to {max(errors):+.0f}."]


def stated():
    lines = ["| source | devices a host | inside a host | between hosts | all-reduce | bucket | overlap |",
             "|---|---|---|---|---|---|---|"]
    for source in dict.fromkeys(row.source for row in PUBLISHED):
        row = next(one for one in PUBLISHED if one.source == source)

        def link(one):
            return f"{one.latency * 1e6:.0f} µs, {one.bandwidth * 8e-9:.0f} Gbit/s"
        bucket = "all at once" if math.isinf(row.bucket) else f"{row.bucket / MB:.0f} MB"
        between = "none" if row.cluster is DGX1 else link(row.cluster.between)
        lines.append(f"| {source} | {row.cluster.per_host} | {link(row.cluster.inside)} | {between} | "
                     f"{row.algorithm} | {bucket} | {'yes' if row.overlap else 'no'} |")
    return lines


def curve():
    """One model on one cluster, from 8 to 1,024 ranks."""
    lines = ["| ranks | " + " | ".join(ALGORITHMS) + " |", "|---" * (len(ALGORITHMS) + 1) + "|"]
    for ranks in (8, 16, 32, 64, 128, 256, 512, 1024):
        row = Published("", RESNET50_V100, ranks, 1, 0.0, V100_100, "ring", TORCH)
        lines.append(f"| {ranks} | " + " | ".join(percent(predicted(row, name)) for name in ALGORITHMS) + " |")
    return lines


TABLES = {"compared": lambda: compared() + [""] + summary(), "stated": stated, "curve": curve}


def rewritten(text):
    return BLOCK.sub(lambda found: found[1] + "\n".join(TABLES[found[2]]()) + "\n" + found[4], text)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    before = DOCUMENT.read_text(encoding="utf-8")
    after = rewritten(before)
    if arguments.check and after != before:
        print("docs/scaling-out.md is not what bench/scaling_model.py gives: run it", file=sys.stderr)
        return 1
    if not arguments.check:
        DOCUMENT.write_text(after, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
