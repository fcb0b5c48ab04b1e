"""ptbench's workloads in PyTorch, with ptbench's names for their tensors."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Workload:
    """What a workload is by default, as docs/models.md has it."""

    shape: tuple[int, ...]
    classes: int
    batch: int
    samples: int
    nonlinear: int  # layers that rounding may move a value to another side of


WORKLOADS = {
    "linear": Workload((10,), 2, 32, 1000, 0),
    "mlp": Workload((784,), 10, 128, 1024, 2),
    "resnet18": Workload((3, 32, 32), 10, 64, 1024, 17),
    "resnet50": Workload((3, 224, 224), 1000, 8, 64, 49),
}
BATCH_ON_CUDA = {"resnet50": 256}


class Residual(nn.Module):
    """A basic or bottleneck block of ResNet v1.5: the 3x3 convolution has the stride."""

    def __init__(self, inputs: int, width: int, outputs: int, stride: int) -> None:
        super().__init__()
        bottleneck = outputs != width
        kernels = (1, 3, 1) if bottleneck else (3, 3)
        widths = (inputs, width, width, outputs)
        strided = 1 if bottleneck else 0
        self.depth = len(kernels)
        for at, kernel in enumerate(kernels):
            last = at == self.depth - 1
            setattr(self, f"conv{at + 1}", nn.Conv2d(
                widths[at], outputs if last else width, kernel, stride if at == strided else 1, kernel // 2,
                bias=False))
            setattr(self, f"bn{at + 1}", nn.BatchNorm2d(outputs if last else width))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        if self.depth == 3:
            x = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(x)))))
        else:
            x = self.bn2(self.conv2(x))
        return self.relu(x + shortcut)


class ResNet(nn.Module):
    def __init__(self, blocks: tuple[int, ...], expansion: int, classes: int, small_images: bool) -> None:
        super().__init__()
        self.conv1 = (nn.Conv2d(3, 64, 3, 1, 1, bias=False) if small_images
                      else nn.Conv2d(3, 64, 7, 2, 3, bias=False))
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.Identity() if small_images else nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for at, count in enumerate(blocks):
            width = 64 << at
            layer = []
            for block in range(count):
                layer.append(Residual(inputs, width, width * expansion, 2 if at > 0 and block == 0 else 1))
                inputs = width * expansion
            setattr(self, f"layer{at + 1}", nn.Sequential(*layer))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


def linear(width: int = 10) -> nn.Module:
    return nn.Sequential(OrderedDict(fc=nn.Linear(width, 2)))


def mlp(width: int = 784) -> nn.Module:
    return nn.Sequential(OrderedDict(
        fc1=nn.Linear(width, 1024), relu1=nn.ReLU(), fc2=nn.Linear(1024, 1024), relu2=nn.ReLU(),
        fc3=nn.Linear(1024, 10)))


def resnet18() -> nn.Module:
    return ResNet((2, 2, 2, 2), 1, 10, small_images=True)


def resnet50() -> nn.Module:
    return ResNet((3, 4, 6, 3), 4, 1000, small_images=False)


BUILD = {"linear": linear, "mlp": mlp, "resnet18": resnet18, "resnet50": resnet50}
BATCH = {name: workload.batch for name, workload in WORKLOADS.items()}
INPUT = {name: workload.shape for name, workload in WORKLOADS.items()}
CLASSES = {name: workload.classes for name, workload in WORKLOADS.items()}


class WithLoss(nn.Module):
    """A model and its loss, so that both are compiled together, and by whole graphs."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.model(inputs), labels)


def import_libraries(workload: str, compiled: bool) -> None:
    """What compiling imports, so that it is not taken for the model's memory."""
    if compiled:
        importlib.import_module("torch._inductor.compile_fx")


def images_of(workload: str) -> bool:
    return len(INPUT[workload]) == 3


def autocast(precision: str, device: str = "cpu") -> torch.autocast:
    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16}
    return torch.autocast(device, dtype=kinds.get(precision, torch.bfloat16), enabled=precision in kinds)


def load_weights(model: nn.Module, weights: dict[str, torch.Tensor]) -> None:
    """Every tensor must have its place; raises ValueError where one has none."""
    counters = {name for name in model.state_dict() if name.endswith("num_batches_tracked")}
    result = model.load_state_dict(weights, strict=False)
    if result.unexpected_keys or set(result.missing_keys) - counters:
        raise ValueError(f"the weights do not fit the model: {result}")
