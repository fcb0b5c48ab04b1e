"""Phases of a PyTorch model's steps, by hooks: the script stays as it is.

    with ptbench.torch.watch(model, optimizer):
        for step in ptbench.steps(samples=64):
            ...

Hooks are there only in the steps whose phases ptbench asks for. On a GPU, steps and phases are timed by CUDA
events, so that nobody waits for the device before the steps that were granted are over.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import torch

from ptbench._recorder import Mark, Recorder, recorder

__all__ = ["watch"]


@contextlib.contextmanager
def watch(model: torch.nn.Module, *optimizers: torch.optim.Optimizer) -> Iterator[None]:
    """Marks forward, backward, exposed communication and optimizer in the steps of the ``with`` block.

    `model` is what the loop calls: wrapped by DistributedDataParallel or torch.compile, if it is.
    *forward* goes from the model's call until backward begins, the loss included; *backward* is
    ``loss.backward()``; *communication_exposed* is the end of backward from when the last gradient is there,
    where a DistributedDataParallel waits for its buckets; *optimizer* is the optimizers' ``step``.
    """
    parameter = next(model.parameters(), None)
    on_gpu = parameter is not None and parameter.is_cuda
    watcher = _ModelWatcher(recorder, model, optimizers)
    if on_gpu:
        recorder.use(_CudaClock())
    recorder.add(watcher)
    try:
        yield
    finally:
        recorder.remove(watcher)
        if on_gpu:
            recorder.use(None)


class _ModelWatcher:
    def __init__(
        self, marks: Recorder, model: torch.nn.Module, optimizers: tuple[torch.optim.Optimizer, ...]
    ) -> None:
        self._recorder = marks
        self._model = model
        # Of Accelerate's the one inside: that has the hooks.
        self._optimizers = [getattr(optimizer, "optimizer", optimizer) for optimizer in optimizers]
        self._reduces = isinstance(model, torch.nn.parallel.DistributedDataParallel) or isinstance(
            getattr(model, "_orig_mod", None), torch.nn.parallel.DistributedDataParallel
        )
        self._hooks: list[Any] = []
        self._forward: Mark | None = None  # when the one that is under way began
        self._gradient: Mark | None = None  # when the newest gradient was there
        self._update: Mark | None = None

    def attach(self) -> None:
        hooks = self._hooks
        hooks.append(self._model.register_forward_pre_hook(self._begin_forward))
        for optimizer in self._optimizers:
            hooks.append(optimizer.register_step_pre_hook(self._begin_update))
            hooks.append(optimizer.register_step_post_hook(self._end_update))
        if self._reduces:
            hooks += [
                parameter.register_post_accumulate_grad_hook(self._note_gradient)
                for parameter in self._model.parameters()
                if parameter.requires_grad
            ]
        hooks.append(_BackwardHook(self))

    def detach(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self._forward = self._gradient = self._update = None

    def _note(self, name: str, begin: Mark, end: Mark) -> None:
        if self._recorder.spans is not None:
            self._recorder.spans.append((name, begin, end))

    def _begin_forward(self, *_: Any) -> None:
        self._end_forward(self._recorder.mark())  # of one that has no backward
        self._forward = self._recorder.mark()

    def _end_forward(self, now: Mark) -> None:
        if self._forward is not None:
            self._note("forward", self._forward, now)
            self._forward = None

    def begin_backward(self) -> Mark:
        now = self._recorder.mark()
        self._end_forward(now)
        self._gradient = None
        return now

    def end_backward(self, begin: Mark) -> None:
        now = self._recorder.mark()
        self._note("backward", begin, now)
        # Without no_sync: there nothing is waited for.
        wrapper = getattr(self._model, "_orig_mod", self._model)
        if self._gradient is not None and getattr(wrapper, "require_backward_grad_sync", False):
            self._note("communication_exposed", self._gradient, now)

    def _note_gradient(self, _: torch.Tensor) -> None:
        self._gradient = self._recorder.mark()

    def _begin_update(self, *_: Any) -> None:
        now = self._recorder.mark()
        self._end_forward(now)
        self._update = now

    def _end_update(self, *_: Any) -> None:
        if self._update is not None:
            self._note("optimizer", self._update, self._recorder.mark())
            self._update = None


class _BackwardHook:
    """Around torch.autograd.backward, which Tensor.backward calls: autograd has no hook for its two ends."""

    def __init__(self, watcher: _ModelWatcher) -> None:
        self._original = original = torch.autograd.backward

        def backward(*arguments: Any, **options: Any) -> None:
            begin = watcher.begin_backward()
            original(*arguments, **options)
            watcher.end_backward(begin)

        torch.autograd.backward = backward

    def remove(self) -> None:
        torch.autograd.backward = self._original


class _CudaClock:
    """Marks are events on the current stream; compared with the monotonic clock whenever the device is waited for."""

    def __init__(self) -> None:
        self.synchronize()

    def mark(self) -> torch.cuda.Event:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def reached(self, mark: torch.cuda.Event) -> bool:
        return mark.query()

    def nanoseconds(self, mark: torch.cuda.Event) -> int:
        mark.synchronize()
        return self._base_ns + round(1e6 * self._base.elapsed_time(mark))

    def synchronize(self) -> None:
        """Compares anew, since the distance of events is a float, which grows coarse."""
        torch.cuda.synchronize()
        base = self.mark()
        base.synchronize()
        self._base, self._base_ns = base, time.monotonic_ns()
