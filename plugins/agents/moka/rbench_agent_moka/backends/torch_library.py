"""What backends that use torch have in common: libraries without network, one thread, the device, state read safely."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rbench.errors import RbenchError, StartError, one_line
from rbench.plugins.importing import stdout_to_stderr
from rbench_agent_moka.weights import checked

#: Libraries that would look for newer files in the network are told not to, before they are imported.
_OFFLINE = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
#: Tokens that GroundingDINO divides a caption by, and their numbers in BERT's vocabulary.
_MARKS = {"[CLS]": 101, "[SEP]": 102, ".": 1012, "?": 1029}


def lacking(libraries: Sequence[str], extra: str) -> str | None:
    """Which libraries are not installed and how to install them, or None. Imports none of them."""
    absent = [name for name in libraries if importlib.util.find_spec(name) is None]
    if not absent:
        return None
    return f"it needs {', '.join(absent)}; install with pip install 'rbench-agent-moka[{extra}]'"


def versions(distributions: Sequence[str]) -> str:
    """`torch 2.13.0, ...` of those that are installed."""
    found = []
    for name in distributions:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(found)


@contextmanager
def loading(what: str, distributions: Sequence[str]) -> Iterator[None]:
    """Import and load inside: offline, nothing on stdout, one thread, and any failure in one line with versions.

    Raises:
        StartError: what is loaded here could not be.
    """
    os.environ.update(_OFFLINE)
    try:
        with stdout_to_stderr():
            import torch

            torch.set_num_threads(1)  # workers share the machine's cores among themselves
            yield
    except RbenchError:
        raise
    except Exception as problem:  # libraries drift: whatever they raise costs this backend only
        raise StartError(
            f"{what} could not be loaded with {versions(distributions)}: {one_line(problem)}. Compare the versions with"
            " those in docs/moka.md and the files with where they are published, or choose -o detector=opencv"
            " -o segmenter=opencv"
        ) from problem


def quiet_transformers() -> Any:
    """The library, which otherwise draws progress bars and says what it does without."""
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def check_tokenizer(tokenizer: Any, folder: Path) -> None:
    """Refuse a tokenizer that is not BERT's: without its files a library makes an empty one and says nothing.

    Raises:
        StartError: [CLS], [SEP], full stop and question mark are not where GroundingDINO looks for them.
    """
    found = tokenizer.convert_tokens_to_ids(list(_MARKS))
    if found != list(_MARKS.values()):
        raise StartError(
            f"weights {folder}: its tokenizer has {', '.join(_MARKS)} at {found} instead of {list(_MARKS.values())};"
            " copy the files of the tokenizer of bert-base-uncased there (vocab.txt, tokenizer_config.json)"
        )


def device_of(name: str) -> Any:
    """The torch device of that name.

    Raises:
        StartError: there is none.
    """
    import torch

    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as problem:
        raise StartError(
            f"agent 'moka': there is no device {name!r} here ({one_line(problem)}); -o device=cpu always is"
        ) from None
    return device


def state_of(path: Path) -> tuple[Mapping[str, Any], str]:
    """The tensors of a file of weights by name, and its SHA-256. Nothing in it is executed.

    Raises:
        StartError: it is not whole, or holds anything but tensors.
    """
    digest = checked(path)
    import torch

    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            state: Any = load_file(path, device="cpu")
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as problem:
        raise StartError(
            f"weights {path}: {one_line(problem)}. It must be a dictionary of tensors, as torch or safetensors saves it"
        ) from None
    state = state.get("model", state) if isinstance(state, dict) else None
    if not isinstance(state, dict) or not all(isinstance(value, torch.Tensor) for value in state.values()):
        raise StartError(f"weights {path}: it is no dictionary of tensors; save the model's state_dict() again")
    return {str(name).removeprefix("module."): value for name, value in state.items()}, digest
