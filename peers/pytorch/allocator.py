"""The allocator that PyTorch's tensors on processors come from: tcmalloc where it is installed."""

from __future__ import annotations

import ctypes
import os
import re
import sys

LIBRARY = "libtcmalloc_minimal.so.4"  # Debian: libtcmalloc-minimal4
# Libraries that are allocators, or bring their own and want to be the first.
ALLOCATORS = re.compile(r"(^|[ :/])lib(tcmalloc|jemalloc|mimalloc|snmalloc|scudo|hoard|asan|tsan)[^/ :]*([ :]|$)")


def can_load(library: str) -> bool:
    """Whether it can be preloaded; what cannot is ignored. Loads it."""
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def is_there() -> bool:
    """Whether tcmalloc is installed; loads it."""
    return can_load(LIBRARY)


def start_with_tcmalloc() -> None:
    """Starts this program anew with tcmalloc in place of the C library's allocator, which gives large tensors back to
    the system in every step. Returns where LD_PRELOAD names it already, or another allocator, and where it is not
    installed, which is said. Ranks that are started later inherit it."""
    preloaded = os.environ.get("LD_PRELOAD", "")
    if ALLOCATORS.search(preloaded):
        return
    if not is_there():
        print("train.py: tcmalloc is not installed, and PyTorch is slower without it: install libtcmalloc-minimal4, or run"
              " scripts/peers", file=sys.stderr)
        return
    os.environ["LD_PRELOAD"] = f"{LIBRARY}:{preloaded}".rstrip(":")
    os.execv(sys.executable, sys.orig_argv)
