"""A PyTorch training script of one process that ptbench measures:

ptbench run --program 'python train.py --batch {b}' -b 128
"""

import argparse
from itertools import chain, repeat

import ptbench
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=1)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    images, labels = torch.randn(4096, 784), torch.randint(10, (4096,))
    loader = DataLoader(TensorDataset(images, labels), arguments.batch, shuffle=True, drop_last=True)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    steps = ptbench.steps(samples=arguments.batch, count=arguments.epochs * len(loader))
    batches = chain.from_iterable(repeat(loader))  # epoch after epoch, for as long as there are steps
    with ptbench.torch.watch(model, optimizer):
        for step, (inputs, targets) in zip(steps, batches):
            loss = nn.functional.cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step.loss = loss
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
