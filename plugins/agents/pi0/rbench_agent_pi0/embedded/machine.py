"""What a training needs of the machine: a device, and memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from rbench.errors import StartError


def device_of(wish: str) -> str:
    """The device that is meant.

    Args:
        wish: cpu, cuda, or auto: a GPU where there is one.

    Raises:
        StartError: there is no GPU that PyTorch can use.
    """
    there = torch.cuda.is_available()
    if wish == "cuda" and not there:
        raise StartError("--device cuda: PyTorch finds no GPU that it can use here; give --device cpu")
    return "cuda" if there and wish != "cpu" else "cpu"


@contextmanager
def enough_memory() -> Iterator[None]:
    """Turn a lack of memory into what to do about it.

    Raises:
        StartError: there is not enough.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as problem:
        # PyTorch has a type of its own for the GPU's memory only.
        if isinstance(problem, MemoryError) or re.search(r"(out of|not enough|allocate) memory", str(problem)):
            raise StartError(
                "there is not enough memory for this training; give a smaller --batch or fewer --demonstrations"
            ) from problem
        raise
