"""`rbench-pi0`: train the embedded policy, look at a checkpoint, serve it."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import click

from rbench.cli.numbers import FiniteRange
from rbench.cli.output import debug_wanted, print_error, print_note
from rbench.errors import RbenchError, StartError
from rbench_agent_pi0.embedded.design import NAME

INTERRUPTED, USAGE = 130, 2
#: The largest seed: JSON and every generator take it without loss.
SEEDS = 2**53 - 1
#: The largest batch: about 5 GB of memory.
BATCHES = 2048


def _name(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """A name that can stand in a command and in a table."""
    if not re.fullmatch(NAME, value):
        raise click.BadParameter("1 to 60 letters, digits, '.', '_' and '-' make a name", context, parameter)
    return value


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """The embedded policy of the agent `pi0`: trained on demonstrations, without a server or a GPU."""


@cli.command()
@click.argument("demonstrations", type=click.Path(path_type=Path))
@click.option("-o", "output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="Of the training.")
@click.option("--name", default="mine", show_default=True, callback=_name, help="Of the checkpoint.")
@click.option("--steps", type=click.IntRange(min=1), default=3200, show_default=True)
@click.option("--batch", type=click.IntRange(1, BATCHES), default=64, show_default=True)
@click.option("--seed", type=click.IntRange(0, SEEDS), default=0, show_default=True)
@click.option("--every", type=click.IntRange(min=1), default=100, show_default=True, help="Steps between saves.")
@click.option("--hue", type=FiniteRange(0, 180), default=75.0, show_default=True, help="Degrees colours turn by.")
@click.option("--saturation", type=FiniteRange(0, 1), default=0.4, show_default=True, help="And are scaled by.")
@click.option("--shift", type=click.IntRange(0, 16), default=2, show_default=True, help="Pixels pictures move by.")
@click.option("--blind", type=FiniteRange(0, 1), default=0.0, show_default=True, help="Share of gray wrist views.")
@click.option("--demonstrations", "most", type=click.IntRange(min=2), metavar="N", help="Only the first N.")
@click.option("--device", type=click.Choice(["auto", "cpu", "cuda"]), default="auto", show_default=True)
@click.option(
    "--threads",
    type=click.IntRange(1, os.cpu_count() or 1),
    default=1,
    show_default=True,
    help="At most the cores of this machine; like --device, it changes numbers slightly.",
)
def train(demonstrations: Path, output: Path, name: str, **given: Any) -> None:
    """Train on DEMONSTRATIONS, a folder that `rbench collect --format raw` wrote.

    Goes on where it was interrupted when the same command is given again. On one kind of machine the same command
    gives the same numbers; --hue 0 --saturation 0 leaves colours as they are.

    \b
    DIR holds
      policy.safetensors  the checkpoint
      training.json       name, recipe, data and curve as text; curve.png: the curve as a picture
      state.safetensors   what going on needs, 32 MB; may be deleted when the training is finished
      training.lock       locked while it runs
    """  # noqa: D301 - the escape tells click to keep lines
    torch = _torch()
    # Not at the top: they need PyTorch, and --help does not.
    from rbench_agent_pi0.embedded.augmentation import Augmentation
    from rbench_agent_pi0.embedded.curve import check_drawing, draw_curve
    from rbench_agent_pi0.embedded.demonstrations import read_dataset
    from rbench_agent_pi0.embedded.design import Design
    from rbench_agent_pi0.embedded.machine import device_of, enough_memory
    from rbench_agent_pi0.embedded.trained import Point, Recipe
    from rbench_agent_pi0.embedded.training import Training
    from rbench_agent_pi0.embedded.training_folder import CURVE

    check_drawing()
    device = device_of(given["device"])
    torch.set_num_threads(given["threads"])
    changes = Augmentation(given["shift"], given["hue"], given["saturation"], given["blind"])
    recipe = Recipe(given["steps"], given["batch"], seed=given["seed"], every=given["every"], augmentation=changes)

    def tell(point: Point) -> None:
        left = (recipe.steps - point.step) * point.seconds / point.step / 60
        print_note(
            f"step {point.step}/{recipe.steps}  loss {point.loss:.4f}  held out {point.held_out:.4f}"
            f"  {point.seconds / 60:.1f} processor minutes, {left:.1f} to go"
        )

    with enough_memory():
        data = read_dataset(demonstrations, Design(), given["most"])
        print_note(f"{data.about['demonstrations']} demonstrations, {data.about['frames']} moments; on {device}")
        training = Training(output, name, data, recipe, device)
        training.run(tell, print_note)
    draw_curve(training.about.trained["curve"], name, output / CURVE)
    click.echo(f"checkpoint: {output / 'policy.safetensors'}")


@cli.command()
@click.argument("checkpoint")
@click.option("--run", "runs", multiple=True, type=click.Path(path_type=Path), metavar="DIR", help="A run of it.")
@click.option("-o", "output", type=click.Path(path_type=Path), metavar="FILE", help="Instead of stdout.")
@click.option("--curve", type=click.Path(path_type=Path), metavar="FILE.png", help="Draw its learning curve.")
def card(checkpoint: str, runs: tuple[Path, ...], output: Path | None, curve: Path | None) -> None:
    """Say what CHECKPOINT (hue, plain or a path) was trained on, how, and what it did in runs.

    A file of your own that is called like a shipped one is ./hue.
    """
    _torch()
    from rbench_agent_pi0.embedded.card import card as written
    from rbench_agent_pi0.embedded.checkpoint import read_checkpoint
    from rbench_agent_pi0.embedded.curve import draw_curve
    from rbench_agent_pi0.embedded.policy import checkpoint_path

    path = checkpoint_path(checkpoint)
    text = written(path, runs)
    if curve is not None:
        head = read_checkpoint(path)[1]
        draw_curve(head.training["curve"], head.name, curve)
    if output is None:
        click.echo(text, nl=False)
    else:
        output.write_text(text, encoding="utf-8")


@cli.command()
@click.argument("checkpoint", default="hue")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any that is free.")
def serve(checkpoint: str, port: int) -> None:
    """Serve CHECKPOINT (hue, plain or a path) by openpi's protocol on 127.0.0.1, until interrupted."""
    _torch()
    from rbench_agent_pi0.embedded.policy import EmbeddedPolicy

    try:
        from rbench_agent_pi0.embedded.server import EmbeddedPolicyServer
    except ImportError as problem:
        raise StartError(
            f"rbench-pi0 serve cannot import what it speaks with ({problem}); install it: python3 -m pip install"
            " 'msgpack>=1.0.5' 'websockets>=15'"
        ) from problem
    policy = EmbeddedPolicy(checkpoint)
    server = EmbeddedPolicyServer(policy, port)
    side = policy.pictures.height
    click.echo(
        f"serving on port {server.port}: rbench run roboview-bias --agent pi0 -o host=127.0.0.1 -o port={server.port}"
        f" -o height={side} -o width={side} -o image_size=0"
    )
    sys.stdout.flush()
    try:
        server.serve_forever()
    finally:
        server.shutdown()


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code; an error is one line on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = debug_wanted(given)
    try:
        cli.main(given, prog_name="rbench-pi0", standalone_mode=False)
    except (KeyboardInterrupt, click.Abort):
        print_note("interrupted; the same command goes on" if given[:1] == ["train"] else "interrupted")
        return INTERRUPTED
    except (RbenchError, click.ClickException, OSError) as problem:
        print_error(problem, debug)
        if isinstance(problem, RbenchError):
            return problem.exit_code
        return USAGE if isinstance(problem, click.ClickException) else 1
    return 0


def _torch() -> Any:
    try:
        import safetensors.torch  # noqa: F401
        import torch
    except ImportError as problem:
        raise StartError(
            f"rbench-pi0 needs PyTorch and safetensors ({problem}); install them: python3 -m pip install torch"
            " safetensors"
        ) from problem
    return torch
