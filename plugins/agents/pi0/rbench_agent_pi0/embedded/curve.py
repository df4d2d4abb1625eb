"""The learning curve as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rbench.errors import StartError, UsageError
from rbench.results.atomic import replacing_binary

#: Endings of the files that a curve can be drawn into.
PICTURES = (".png", ".svg", ".pdf", ".jpg")


def check_drawing(path: Path | None = None) -> None:
    """Say before a long training, not after it, that its curve could not be drawn.

    Args:
        path: of the picture, when it is not one that is known to do.

    Raises:
        StartError: matplotlib is missing.
        UsageError: its ending stands for no picture.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as problem:
        raise StartError(
            f"rbench-pi0 draws curves with matplotlib ({problem}); install it: python3 -m pip install matplotlib"
        ) from problem
    if path is not None and path.suffix.lower() not in PICTURES:
        raise UsageError(
            f"{path}: no curve can be drawn into a file that ends in {path.suffix!r}; give one of {', '.join(PICTURES)}"
        )


def draw_curve(curve: list[dict[str, Any]], name: str, path: Path) -> None:
    """Draw the losses of training and of held-out demonstrations over steps, on a logarithmic scale.

    Raises:
        StartError: matplotlib is missing, or the picture cannot be written.
        UsageError: there is no curve, or the ending of the path stands for no kind of picture.
    """
    check_drawing(path)
    if not curve:
        raise UsageError(f"rbench-pi0 {name} was not trained and has no curve; leave --curve away")
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
    try:
        with replacing_binary(path) as file:
            figure.savefig(file, format=path.suffix.lower().removeprefix("."))
    except OSError as problem:
        raise StartError(
            f"the curve cannot be written ({problem}); free space or make {path} writable: the same command draws it"
        ) from problem
