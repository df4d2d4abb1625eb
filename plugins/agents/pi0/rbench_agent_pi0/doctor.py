"""What `rbench doctor` says of the embedded policy: whether it can run here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rbench.doctor.check import Check
from rbench.errors import StartError
from rbench_agent_pi0.options import SHIPPED


def examine(environ: Mapping[str, str]) -> Iterator[Check]:
    """The shipped checkpoints, read as a run reads them."""
    try:
        import safetensors
        import torch

        from rbench_agent_pi0.embedded.policy import EmbeddedPolicy
    except ImportError as problem:
        # No fault of the machine's: everything else goes without, and PyTorch is large.
        yield Check(
            "pi0 embedded policy", "ok", f"not used: {problem}. It needs python3 -m pip install torch safetensors"
        )
        return
    try:
        read = [f"{name} {digest[:12]}" for name in SHIPPED for digest in EmbeddedPolicy(name).weights.values()]
    except StartError as problem:
        yield Check("pi0 embedded policy", "problem", str(problem), "install rbench-agent-pi0 again")
        return
    versions = f"torch {torch.__version__}, safetensors {safetensors.__version__}"
    yield Check("pi0 embedded policy", "ok", f"{', '.join(read)} (sha256); {versions}")
