"""Times one training step of a ptbench workload in PyTorch on a GPU, for scripts/gpu-check.

    python gpu_step_time.py WORKLOAD [--precision fp32|tf32|bf16|fp16] [--batch B] [--compile]
                            [--seconds S] [--device cuda:0]

Fused optimizer, batches that lie on the device already, channels_last for images, cuDNN's fastest
algorithms (benchmark), autocast with fp32 master weights in bf16 and fp16, in fp16 with a gradient scaler.
Products are rounded to tf32 in tf32 alone. Prints one JSON line: `samples_per_second` is the median over
rounds of S / 5 seconds each, whose ends alone wait for the device, and `range` the slowest and the fastest.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time

import torch
from torch.nn import functional

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "pytorch"))

import models  # noqa: E402

ROUNDS = 5
NARROW = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Training:
    def __init__(self, arguments):
        self.device = torch.device(arguments.device)
        workload, batch = arguments.workload, arguments.batch
        images = models.images_of(workload)
        layout = torch.channels_last if images else torch.contiguous_format
        model = models.BUILD[workload]().to(self.device, memory_format=layout)
        self.inputs = [torch.randn(batch, *models.INPUT[workload], device=self.device).contiguous(memory_format=layout)
                       for _ in range(4)]
        self.labels = [torch.randint(0, models.CLASSES[workload], (batch,), device=self.device) for _ in range(4)]
        self.optimizer = models.optimizer_of(workload, list(model.parameters()))
        self.forward = torch.compile(model) if arguments.compile else model
        self.type = NARROW.get(arguments.precision)
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=arguments.precision == "fp16")
        self.steps = 0

    def step(self):
        index = self.steps % 4
        self.steps += 1
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, dtype=self.type, enabled=self.type is not None):
            loss = functional.cross_entropy(self.forward(self.inputs[index]), self.labels[index])
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def seconds_of(self, steps):
        self.wait()
        begin = time.perf_counter()
        for _ in range(steps):
            self.step()
        self.wait()
        return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("workload", choices=models.BUILD)
    parser.add_argument("--precision", choices=["fp32", "tf32", "bf16", "fp16"], default="fp32")
    parser.add_argument("--batch", type=int, help="default: the workload's")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--seconds", type=float, default=2.5)
    parser.add_argument("--device", default="cuda:0")
    arguments = parser.parse_args()
    arguments.batch = arguments.batch or models.BATCH[arguments.workload]

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = arguments.precision == "tf32"
    training = Training(arguments)
    training.seconds_of(5)  # chooses algorithms, compiles
    steps = max(1, round(arguments.seconds / ROUNDS * 10 / training.seconds_of(10)))
    rates = [steps * arguments.batch / training.seconds_of(steps) for _ in range(ROUNDS)]
    print(json.dumps({
        "workload": arguments.workload,
        "engine": f"PyTorch {torch.__version__}" + (" compiled" if arguments.compile else " eager"),
        "precision": arguments.precision,
        "batch": arguments.batch,
        "steps": steps * ROUNDS,
        "samples_per_second": statistics.median(rates),
        "range": [min(rates), max(rates)],
    }))


if __name__ == "__main__":
    main()
