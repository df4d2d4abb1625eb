"""The learning curve as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rbench.errors import StartError


def check_drawing() -> None:
    """Say before a long training, not after it, that its curve could not be drawn.

    Raises:
        StartError: matplotlib is missing.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as problem:
        raise StartError(
            f"rbench-pi0 draws curves with matplotlib ({problem}); install it: python3 -m pip install matplotlib"
        ) from problem


def draw_curve(curve: list[dict[str, Any]], name: str, path: Path) -> None:
    """Draw the losses of training and of held-out demonstrations over steps, on a logarithmic scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    steps = [point["step"] for point in curve]
    axes.plot(steps, [point["loss"] for point in curve], label="training (with augmentation)", color="#0072b2")
    axes.plot(steps, [point["held_out"] for point in curve], label="held-out demonstrations", color="#d55e00")
    minutes = curve[-1]["seconds"] / 60.0
    axes.set(xlabel=f"step ({minutes:.1f} minutes of processor time in all)", ylabel="flow loss", yscale="log")
    axes.set_title(f"rbench-pi0 {name}")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path)
