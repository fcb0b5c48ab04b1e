"""ptbench's workloads in PyTorch, with ptbench's names for their tensors."""
import importlib
from collections import OrderedDict

import torch
from torch import nn


def linear(width=10):
    return nn.Sequential(OrderedDict(fc=nn.Linear(width, 2)))


def mlp(width=784):
    return nn.Sequential(OrderedDict(
        fc1=nn.Linear(width, 1024), relu1=nn.ReLU(), fc2=nn.Linear(1024, 1024), relu2=nn.ReLU(),
        fc3=nn.Linear(1024, 10)))


def resnet18():
    import torchvision

    model = torchvision.models.resnet18(num_classes=10)
    model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    model.maxpool = nn.Identity()
    return model


def resnet50():
    import torchvision

    return torchvision.models.resnet50()


BUILD = {"linear": linear, "mlp": mlp, "resnet18": resnet18, "resnet50": resnet50}
BATCH = {"linear": 32, "mlp": 128, "resnet18": 64, "resnet50": 8}
INPUT = {"linear": (10,), "mlp": (784,), "resnet18": (3, 32, 32), "resnet50": (3, 224, 224)}
CLASSES = {"linear": 2, "mlp": 10, "resnet18": 10, "resnet50": 1000}
WEIGHT_DECAY = {"linear": 0.0, "mlp": 0.0, "resnet18": 5e-4, "resnet50": 5e-4}


def import_libraries(workload, compiled):
    """What building and compiling the model imports, so that it is not taken for its memory."""
    if images_of(workload):
        importlib.import_module("torchvision")
    if compiled:
        importlib.import_module("torch._inductor.compile_fx")


def images_of(workload):
    return len(INPUT[workload]) == 3


def autocast(precision):
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16")
