"""A PyTorch training script for several processes that ptbench measures:

ptbench sweep --program 'OMP_NUM_THREADS={threads} torchrun --nproc-per-node {n} train_ddp.py --batch {b}' \\
    -n 1,2 -b 64 -o scaling.json
"""

import argparse
from itertools import chain, repeat

import ptbench
import torch
from torch import distributed, nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=1)
    arguments = parser.parse_args()

    distributed.init_process_group("gloo")
    torch.manual_seed(0)
    images, labels = torch.randn(4096, 784), torch.randint(10, (4096,))
    data = TensorDataset(images, labels)
    loader = DataLoader(data, arguments.batch, sampler=DistributedSampler(data), drop_last=True)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    model = nn.parallel.DistributedDataParallel(model)
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
    if distributed.get_rank() == 0:
        print(f"loss {loss.item():.4f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
