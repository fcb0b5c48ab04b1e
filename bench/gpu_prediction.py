"""Predicts a training step on an H100 from counted launches and bytes, and writes docs/gpu_steps.md.

`Counts` holds what scripts/predict-steps counted of a step, as docs/gpu_steps.md shows it, so that the document
can be made anew from its own table. A prediction is a range: `Assumptions` LOW and HIGH give its ends. Only
Python's standard library is used.
"""
import re
import typing

# Bytes of a value of the input, as the host sends it; it gathers floats.
SENT = {"fp32": 4, "bf16": 2}
FLOAT = 4
# Bytes that each thread which gathers writes at least (src/data/batch_loader.cpp).
BYTES_OF_THREAD = 2**20

# NVIDIA H100 SXM5 80 GB, data sheet: dense peaks without sparsity.
BANDWIDTH = 3.35e12
PEAK = {"fp32": 66.9e12, "bf16": 989e12}


class Assumptions(typing.NamedTuple):
    """Of one end of the range. Shares are of the H100's peaks; times in seconds, rates in bytes a second."""
    memory: float     # share of the bandwidth that kernels reach
    products: dict    # share of the peak that convolutions and products reach, by precision
    launch: float     # what each launch costs beside the bytes that it moves
    link: float       # from the host's memory to the device
    overlaps: bool    # whether the copy of the next batch hides behind the step
    gather: float     # at which a thread of the host puts a batch together, of floats
    threads: int      # that do so
    call: float       # of the host for each copy, and for the launch of the graph


LOW = Assumptions(memory=0.75, products={"fp32": 0.5, "bf16": 0.18}, launch=3e-6, link=25e9, overlaps=False,
                  gather=10e9, threads=4, call=5e-6)
HIGH = Assumptions(memory=0.85, products={"fp32": 0.7, "bf16": 0.22}, launch=1e-6, link=50e9, overlaps=True,
                   gather=20e9, threads=8, call=2e-6)


class Counts(typing.NamedTuple):
    """A step of a workload. Bytes are rounded as the document shows them."""
    workload: str
    precision: str
    batch: int
    own_launches: int
    library_launches: int
    least_launches: int
    copies: int
    input_bytes: float
    own_bytes: float
    library_bytes: float
    least_bytes: float
    over_least: float  # all bytes / least
    flops: float


class Prediction(typing.NamedTuple):
    """Seconds of a step and of its parts under one set of assumptions."""
    own: float
    library: float
    launches: float
    copy: float
    host: float
    step: float


def predict(counts, assumed):
    memory = assumed.memory * BANDWIDTH
    own = counts.own_bytes / memory
    library = max(counts.library_bytes / memory,
                  counts.flops / (assumed.products[counts.precision] * PEAK[counts.precision]))
    launches = (counts.own_launches + counts.library_launches) * assumed.launch
    copy = counts.input_bytes / assumed.link
    threads = max(1, min(assumed.threads, int(counts.input_bytes // BYTES_OF_THREAD)))
    gathered = counts.input_bytes / SENT[counts.precision] * FLOAT
    host = gathered / (assumed.gather * threads) + (counts.copies + 1) * assumed.call
    device = own + library + launches
    step = max(device, copy, host) if assumed.overlaps else max(device + copy, host)
    return Prediction(own, library, launches, copy, host, step)


class Published(typing.NamedTuple):
    """Training of ResNet-50 with batch norm apart from the convolutions, as NVIDIA published it."""
    images_per_second: float
    peak: float
    bandwidth: float


# https://github.com/NVIDIA/DeepLearningExamples, PyTorch/Classification/ConvNets/resnet50v1.5.
A100 = Published(2470, 312e12, 2.039e12)  # mixed precision, 80 GB
V100 = Published(367, 15.7e12, 0.9e12)    # fp32, 16 GB
# MLPerf Training v4.0, NVIDIA's submission with MXNet, fp16: images/s of an H100.
MLPERF = 7160


def share_of_convolutions(published, counts):
    """Of the peak, where a published step moves the same bytes outside of convolutions as `counts`."""
    seconds = 1 / published.images_per_second
    around = counts.own_bytes / counts.batch / (HIGH.memory * published.bandwidth)
    return counts.flops / counts.batch / (seconds - around) / published.peak


# Text


def bytes_text(count):
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5 or unit == "GB":
            return f"{count:.3g} {unit}"
        count /= 1000


def bytes_in(text):
    value, unit = text.split()
    return float(value) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def time_text(low, high):
    """A range, from the shorter time to the longer."""
    scale, unit = (1e6, "µs") if high < 1e-3 else (1e3, "ms")

    def number(value):
        return f"{value * scale:.0f}" if unit == "µs" else f"{value * scale:.3g}"

    ends = sorted({number(low): low, number(high): high}, key=float)
    return " to ".join(ends) + f" {unit}"


def cells_line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def counts_line(counts):
    return cells_line([f"`{counts.workload}`", counts.precision, counts.batch,
                       f"{counts.own_launches} + {counts.library_launches}", counts.least_launches, counts.copies,
                       bytes_text(counts.input_bytes), bytes_text(counts.own_bytes),
                       bytes_text(counts.library_bytes), bytes_text(counts.least_bytes),
                       f"{counts.over_least:.2f}", f"{counts.flops / 1e9:.3g}"])


COUNTS = re.compile(r"^\| `(\w+)` \| (\w+) \| (\d+) \| (\d+) \+ (\d+) \| (\d+) \| (\d+) \| ([^|]+) \| ([^|]+) \| "
                    r"([^|]+) \| ([^|]+) \| ([\d.]+) \| ([^|]+) \|$", re.MULTILINE)


def counts_in(text):
    """All that a document, or a line of it, says."""
    return [Counts(workload, precision, *(int(number) for number in numbers),
                   *(bytes_in(size) for size in sizes), float(over), float(gflop) * 1e9)
            for workload, precision, *rest in COUNTS.findall(text)
            for numbers, sizes, over, gflop in [(rest[:5], rest[5:9], rest[9], rest[10])]]


def shown(counts):
    """`counts` as the document shows them: predictions are made of these."""
    return counts_in(counts_line(counts))[0]


def prediction_line(counts):
    low, high = predict(counts, LOW), predict(counts, HIGH)
    parts = [time_text(getattr(high, part), getattr(low, part)) for part in Prediction._fields]
    return cells_line([f"`{counts.workload}`", counts.precision, counts.batch, *parts,
                       f"**{rounded(counts.batch / low.step)} to {rounded(counts.batch / high.step)}**"])


def rounded(value):
    """To three digits: a prediction knows no more."""
    return f"{float(f'{value:.3g}'):,.0f}"


def document(rows):
    """docs/gpu_steps.md of these counts, with `resnet50` in both precisions among them."""
    rows = [shown(counts) for counts in rows]
    deep = {counts.precision: counts for counts in rows if counts.workload == "resnet50"}
    per_image = deep["bf16"].flops / deep["bf16"].batch
    of_a100 = share_of_convolutions(A100, deep["bf16"])
    bound = of_a100 * (BANDWIDTH / A100.bandwidth) / (PEAK["bf16"] / A100.peak)
    of_v100 = share_of_convolutions(V100, deep["fp32"])
    return TEXT.format(
        low=LOW, high=HIGH, counted="\n".join(counts_line(counts) for counts in rows),
        predicted="\n".join(prediction_line(counts) for counts in rows),
        bf16=f"{LOW.products['bf16']} to {HIGH.products['bf16']}",
        fp32=f"{LOW.products['fp32']} to {HIGH.products['fp32']}",
        low_launch=LOW.launch * 1e6, high_launch=HIGH.launch * 1e6, low_link=LOW.link / 1e9,
        high_link=HIGH.link / 1e9, low_gather=LOW.gather / 1e9, high_gather=HIGH.gather / 1e9,
        low_threads=LOW.threads, high_threads=HIGH.threads,
        low_call=LOW.call * 1e6, high_call=HIGH.call * 1e6, mlperf=MLPERF,
        of_mlperf=MLPERF * per_image / PEAK["bf16"], of_a100=of_a100, bound=bound, of_v100=of_v100)


TEXT = """# Steps on a CUDA device: counted, and predicted

Nothing here was measured on a GPU. Launches and bytes were counted on an emulated device; times and samples/s are
**predictions** for an H100 SXM, for the first real run to be judged by. `scripts/predict-steps --write` counts and
writes both tables; `scripts/predict-steps --predict` makes the second anew from the first and needs no build.

## Counted

Each byte that a launch touches counts once, as if each launch found nothing in a cache. *Own* are ptbench's kernels,
*library* the products of cuBLASLt and the convolutions of cuDNN. *Input* is the batch that the host sends, in the type
of the model: in bf16 the host rounds it.

The least possible, of launches and of bytes, is what would be left if all else were part of a product, a convolution
or the update: their launches, each of which reads its operands and writes its results once. Batch norm, ReLU,
additions, pools, casts and the loss are all that is above it. The least of `linear` is one launch of one block, the
loss included, and bound by latency.

| workload | precision | batch | launches: own + library | least | copies | input | bytes: own | bytes: library | least | bytes / least | GFLOP |
|---|---|---|---|---|---|---|---|---|---|---|---|
{counted}

## Predicted

A range: its low end takes the cautious value of each assumption, its high end the other. The step on the device is
own kernels + library + launches. At the low end the input's copy comes on top; at the high end it hides behind the
step. The host gathers the next batch meanwhile, into the other of two page-locked buffers. Where it takes longer than
that, the step is the host's.

| workload | precision | batch | own kernels | library | launches | copy of the input | host | step | samples/s, predicted |
|---|---|---|---|---|---|---|---|---|---|
{predicted}

| assumption | low to high | where it comes from |
|---|---|---|
| peaks | 3.35 TB/s; 66.9 TFLOP/s in fp32, 989 in bf16, dense | NVIDIA's data sheet of the H100 SXM |
| own kernels (batch norm above all) reach this share of the bandwidth | {low.memory} to {high.memory} | assumed: the high end is what ptbench's kernels are meant to reach ([PENDING.md](../bench/results/gpu/PENDING.md)) |
| convolutions and products in bf16 reach this share of the peak, or the bandwidth above if that takes longer | {bf16} | see below |
| the same in fp32 | {fp32} | {of_v100:.2f} on a V100, by the arithmetic below from PyTorch's 367 images/s; the low end is assumed |
| each launch costs, beside the bytes that it moves | {low_launch:.0f} to {high_launch:.0f} µs | a kernel of 2.9 µs takes [3.4 µs](https://developer.nvidia.com/blog/cuda-graphs/) in a graph (V100); filling and draining the device is assumed |
| the input is copied with | {low_link:.0f} to {high_link:.0f} GB a second | about 80 % of PCIe 4.0 and 5.0 with 16 lanes (32 and 64 GB a second) |
| the copy overlaps the step | no to yes | ptbench sends the next batch while a step computes; not seen on a GPU |
| a thread of the host gathers, and rounds, | {low_gather:.0f} to {high_gather:.0f} GB of floats a second | assumed |
| threads that gather, each at least 1 MiB of the input | {low_threads} to {high_threads} | ptbench takes a rank's cores, at most 8 |
| a call of the host (each copy, and the launch of the graph) takes | {low_call:.0f} to {high_call:.0f} µs | assumed; a kernel from a stream takes [3.8 µs](https://developer.nvidia.com/blog/cuda-graphs/) |

**Convolutions.** NVIDIA's submission to MLPerf Training v4.0 trains ResNet-50 in fp16 with about {mlperf:,} images/s on
an H100: {of_mlperf:.2f} of the peak over the whole step, with kernels that fuse batch norm. Its convolutions alone reach more
than that, and it is the low end here. PyTorch on an A100 trains
[2,470 images/s](https://github.com/NVIDIA/DeepLearningExamples/tree/master/PyTorch/Classification/ConvNets/resnet50v1.5)
in mixed precision (MXNet 3,410). If it moves the bytes that are counted here outside of convolutions, its
convolutions reach {of_a100:.2f} of that peak. An H100 has 3.2 times the operations and 1.6 times the bandwidth: {of_a100:.2f}
again if operations bind all convolutions, {bound:.2f} if memory does. The high end here is the middle of both.

## Left out

What would make a step longer:

- small convolutions and products, which reach less of the peak than those of ResNet-50: all in `resnet18` and `mlp`;
- convolutions and products that read operands more than once, their workspaces, and tensors that cuDNN transposes;
- clocks below the peak's at the power limit, and memory that the copy of the batch takes from the step;
- the gap between two graphs, if the host launches the next one late; steps without a graph (`--graph off`);
- a host that reads its data from a disk, decodes it, or is on another NUMA node than the GPU;
- loss scaling, whose result the host waits for, and communication between GPUs.

What would make it shorter:

- data that a kernel finds in the 50 MB of cache, most of all in `mlp`, whose step moves little more than that;
- a launch that begins while the one before it drains.
"""
