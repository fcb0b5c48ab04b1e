"""Which rank of how many this process is, and what it trains with."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from typing import Any

# Rank and world size, as launchers set them: torchrun, Open MPI, hydra (MPICH, Intel MPI), Slurm.
_VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)


def place(variables: Mapping[str, str] = os.environ) -> tuple[int, int]:
    """Rank and world size: torch.distributed's where it is initialised, else the launcher's, else 0 of 1."""
    torch = sys.modules.get("torch")
    if torch is not None:
        distributed = getattr(torch, "distributed", None)
        if distributed is not None and distributed.is_available() and distributed.is_initialized():
            return distributed.get_rank(), distributed.get_world_size()
    for rank, world_size in _VARIABLES:
        if rank in variables and world_size in variables:
            return int(variables[rank]), int(variables[world_size])
    return 0, 1


def framework() -> dict[str, str]:
    """Name and version of the imported framework, or Python's."""
    for module, name in (("torch", "pytorch"), ("jax", "jax"), ("tensorflow", "tensorflow")):
        imported: Any = sys.modules.get(module)
        version = getattr(imported, "__version__", None)
        if version is not None:
            return {"name": name, "version": str(version)[:64]}
    return {"name": "python", "version": platform.python_version()}


def device() -> str:
    """``cuda:N`` where this process uses a GPU through PyTorch, else ``cpu``."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return f"cuda:{torch.cuda.current_device()}"
    return "cpu"
