"""One replica of a workload in PyTorch, tuned: docs/peers.md says which setting is chosen why."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable

import batches
import models
import numpy as np
import safetensors.torch
import torch
from options import ABSENT, Place, refuse
from torch import distributed, nn

Batch = tuple[torch.Tensor, torch.Tensor]
_MOST_READY_BYTES = 1 << 29  # of batches that lie in memory before training begins


def gpus_of(options: argparse.Namespace) -> list[int]:
    """The GPUs that --device lists; none: as many as are wanted, from the first on."""
    return [int(index) for index in options.device[5:].split("+")] if ":" in options.device else []


def choose_device(options: argparse.Namespace, place: Place) -> torch.device:
    """Refuses what is not there."""
    name = options.device
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name.startswith("cuda"):
        if not torch.cuda.is_available():
            refuse("--device cuda: PyTorch finds no GPU; choose --device cpu", ABSENT)
        listed = gpus_of(options)
        device = torch.device("cuda", listed[place.local_rank % len(listed)] if listed else place.local_rank)
        torch.cuda.set_device(device)
        return device
    if options.strategy == "dp":
        refuse("--strategy dp: nn.DataParallel splits batches among GPUs, and there is none; use ddp", ABSENT)
    if options.precision == "tf32":
        refuse("--precision tf32: processors have no such type; use fp32 or bf16", ABSENT)
    return torch.device("cpu")


def batch_of(options: argparse.Namespace, device: torch.device) -> int:
    """Samples that a rank trains on at a time; of dp, those of all devices."""
    default = models.WORKLOADS[options.workload].batch
    if device.type == "cuda":
        default = models.BATCH_ON_CUDA.get(options.workload, default)
    return (options.batch_size or default) * (options.nproc if options.strategy == "dp" else 1)


class Training:
    """`step(k)` makes optimizer step k, from 0, on ptbench's k-th batch, and returns its loss on this rank."""

    def __init__(self, options: argparse.Namespace, place: Place, device: torch.device) -> None:
        self.options, self.device = options, device
        self.workload = models.WORKLOADS[options.workload]
        self.split = batches.Split(batch_of(options, device), options.accumulate, place.world_size, place.rank)
        self.format = self._memory_format()
        self._ready = self._load_batches()
        self.core, self.model = self._build(place)
        self.optimizer = self._make_optimizer()
        self.scaler = self._make_scaler()
        self._sets_to_none = not self._is_other("set_to_none")

    @property
    def samples(self) -> int:
        """In one step of this process."""
        return self.split.batch * self.split.accumulate

    @property
    def precision(self) -> str:
        return self.options.precision

    def step(self, number: int) -> torch.Tensor:
        """Gradients are means over all micro-batches and ranks; so is the loss over this rank's."""
        parts = self._ready[number % len(self._ready)]
        last = len(parts) - 1
        loss = None
        self.optimizer.zero_grad(set_to_none=self._sets_to_none)
        for at, (inputs, labels) in enumerate(parts):
            with self._without_sync() if at < last else contextlib.nullcontext():
                with models.autocast(self.precision, self.device.type):
                    part = self.model(inputs, labels).mean() / len(parts)  # dp returns a loss for each device
                self.scaler.scale(part).backward()
            loss = part.detach() if loss is None else loss + part.detach()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss

    def load(self, path: str) -> None:
        """Weights as ptbench saves them."""
        try:
            models.load_weights(self.core, safetensors.torch.load_file(path, device=str(self.device)))
        except (OSError, ValueError) as error:
            refuse(f"{path}: {error}")

    def _is_other(self, setting: str) -> bool:
        """Whether it was asked for the other way than docs/peers.md says."""
        return setting in self.options.other

    def _without_sync(self) -> contextlib.AbstractContextManager:
        no_sync: Callable | None = getattr(self.model, "no_sync", None)
        return contextlib.nullcontext() if no_sync is None else no_sync()

    def _memory_format(self) -> torch.memory_format:
        """channels_last for images: docs/peers.md."""
        wins = models.images_of(self.options.workload) and not self._is_other("channels_last")
        return torch.channels_last if wins else torch.contiguous_format

    def _load_batches(self) -> list[list[Batch]]:
        """Those of the first epoch, on the device already."""
        options = self.options
        if options.data == "synthetic":
            samples = options.samples or max(self.workload.samples, self.samples * self.split.ranks)
            source = batches.Synthetic(options.seed, samples, self.workload.shape, self.workload.classes)
        else:
            try:
                shape = self.workload.shape if models.images_of(options.workload) else None
                source = batches.read_directory(batches.pathlib.Path(options.data), shape)
            except (OSError, ValueError) as error:
                refuse(f"--data {options.data}: {error}")
        steps = self.split.steps_per_epoch(source.samples)
        if steps < 1:
            refuse(f"{source.samples} samples do not fill one global batch; choose a smaller --batch-size,"
                   " or more --samples")
        probe, _ = source.take(np.arange(1))
        self.input_width = probe[0].size
        steps = min(steps, max(4, _MOST_READY_BYTES // (probe.nbytes * self.samples)))
        together = steps * self.samples * self.split.ranks
        order = (batches.shuffled(options.seed, 0, source.samples, together) if options.shuffle == "on"
                 else np.arange(source.samples))
        return [[self._on_device(*source.take(rows)) for rows in self.split.rows(order, step)]
                for step in range(steps)]

    def _on_device(self, inputs: np.ndarray, labels: np.ndarray) -> Batch:
        values = torch.from_numpy(inputs)
        if values.dim() == 4:
            values = values.contiguous(memory_format=self.format)
        return values.to(self.device), torch.from_numpy(labels).to(self.device)

    def _build(self, place: Place) -> tuple[nn.Module, nn.Module]:
        """The model itself, for its weights, and what the loop calls: it returns the loss."""
        options = self.options
        torch.manual_seed(options.seed)
        width = () if models.images_of(options.workload) else (self.input_width,)
        core = models.BUILD[options.workload](*width)
        core = core.to(self.device, memory_format=self.format)
        model: nn.Module = models.WithLoss(core)
        if options.initial_weights:
            models.load_weights(core, safetensors.torch.load_file(options.initial_weights, device=str(self.device)))
        if options.compile:  # inside of the wrapper, so that the graph stays whole
            model = torch.compile(model)
        if options.strategy == "dp":
            model = nn.DataParallel(model, device_ids=gpus_of(options) or list(range(options.nproc)))
        if options.strategy == "ddp" and distributed.is_initialized():
            model = nn.parallel.DistributedDataParallel(
                model, device_ids=[self.device] if self.device.type == "cuda" else None,
                gradient_as_bucket_view=not self._is_other("bucket_view"),
                static_graph=options.accumulate == 1 and not self._is_other("static_graph"),
                **({} if options.bucket_mb == "auto" else {"bucket_cap_mb": float(options.bucket_mb)}))
        return core, model

    def _make_optimizer(self) -> torch.optim.Optimizer:
        options = self.options
        parameters = list(self.model.parameters())
        how = {"foreach": True} if self._is_other("fused") else {"fused": True}
        if options.optimizer == "sgd":
            return torch.optim.SGD(parameters, options.lr, momentum=options.momentum,
                                   weight_decay=options.weight_decay, **how)
        kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[options.optimizer]
        return kind(parameters, options.lr, weight_decay=options.weight_decay, **how)

    def _make_scaler(self) -> torch.amp.GradScaler:
        scale = self.options.loss_scale
        if scale in ("none", "dynamic"):
            return torch.amp.GradScaler(self.device.type, enabled=scale == "dynamic")
        never = 1 << 30
        return torch.amp.GradScaler(self.device.type, init_scale=float(scale), growth_interval=never)
