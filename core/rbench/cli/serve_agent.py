"""`rbench serve-agent`: an installed agent for runs elsewhere, and the file with which other agents are served."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rbench.cli.numbers import SECONDS
from rbench.cli.output import print_note, print_text
from rbench.cli.values import parse_options, parse_wrapper_options
from rbench.errors import StartError, UsageError

if TYPE_CHECKING:
    from rbench.running.agents import ResolvedAgent

#: What numerical libraries read when they are imported.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@click.command("serve-agent")
@click.argument("agent", metavar="[NAME]", required=False)
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the agent; @FILE.toml: many.")
@click.option("--wrap", "wrappers", multiple=True, metavar="WRAPPER", help="Wrap the agent; outermost first.")
@click.option(
    "-w", "--wrapper-option", "wrapper_options", multiple=True, metavar="WRAPPER.KEY=VALUE", help="Of a wrapper."
)
@click.option("--vision", metavar="NAME", help="Vision model that is asked here; default: that of the run.")
@click.option("-v", "--vision-option", "vision_options", multiple=True, metavar="KEY=VALUE", help="Of that model.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; default 8765, 0: a free one.")
@click.option("--token-env", metavar="VARIABLE", help="Environment variable with a token that clients must show.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Of numerical libraries.")
@click.option("--at-once", type=click.IntRange(1, 64), default=1, show_default=True, help="Calls worked on at once.")
@click.option("--idle-exit", type=SECONDS, metavar="SECONDS", help="End after so long without a client.")
@click.option(
    "--write",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the file with which an agent is served without rbench, and end.",
)
def command(agent: str | None, write: Path | None, **said: Any) -> int:
    """Serve the agent NAME to `rbench run SUITE --agent remote`, until interrupted.

    Every connection has an agent of its own, one call is worked on at a time, with a fixed number of threads: what an
    agent does depends neither on how many workers a run has nor on what other runs ask.
    """
    if write is not None:
        if agent is not None:
            raise UsageError(f"--write writes a file and serves nothing; leave out {agent!r}, or --write")
        return _write(write)
    if agent is None:
        raise UsageError("which agent? Give its name, as in `rbench serve-agent simple`; or --write FILE")
    _serve(agent, said)
    return 0


def _serve(agent: str, said: dict[str, Any]) -> None:
    for variable in THREADS:
        os.environ[variable] = str(said["threads"])
    os.environ.setdefault("MUJOCO_GL", "disable")  # pictures are drawn where the world is
    token = _token(said["token_env"])
    # Not at the top: what is imported from here on reads the variables above.
    try:
        from rbench.remote.agent_server import serve
    except ModuleNotFoundError as problem:
        raise StartError(
            f"`rbench serve-agent` needs {problem.name}, not installed here: pip install 'rbench[remote]'"
        ) from problem
    from rbench.remote.served import ServedAgent

    parts = _parts(agent, said)
    own_vision = said["vision"] is not None
    spare = [ServedAgent(parts, own_vision)]  # what cannot be made is told now, not to the first client

    def make() -> ServedAgent:
        return spare.pop() if spare else ServedAgent(parts, own_vision)

    def ready(line: str) -> None:
        print_text(line)
        print_note("use it with: rbench run SUITE --agent remote -o port=" + line.rpartition(":")[2])

    try:
        serve(make, agent, said["host"], said["port"], token, said["at_once"], said["idle_exit"], ready)
    except OSError as problem:
        raise StartError(
            f"cannot listen at {said['host']}, port {said['port'] or 'by default'}: {problem.strerror or problem};"
            " choose another with --port"
        ) from problem


def _parts(agent: str, said: dict[str, Any]) -> ResolvedAgent:
    from rbench.plugins.catalog import build_catalog
    from rbench.running.agents import resolve_agent
    from rbench.running.description import Part, RunDescription

    by_wrapper = parse_wrapper_options(said["wrapper_options"], said["wrappers"])
    vision_options = parse_options(said["vision_options"], "-v")
    if vision_options and said["vision"] is None:
        raise UsageError(f"-v {next(iter(vision_options))}=...: an option of which model? Name it with --vision")
    description = RunDescription(
        "",
        agent=Part.named(agent, parse_options(said["options"], "-o")),
        wrappers=tuple(Part.named(name, by_wrapper[name]) for name in said["wrappers"]),
        vision=None if said["vision"] is None else Part.named(said["vision"], vision_options),
    )
    return resolve_agent(build_catalog(), description)


def _token(variable: str | None) -> str:
    if variable is None:
        return ""
    token = os.environ.get(variable, "")
    if not token.strip() or not token.isprintable() or not token.isascii():
        raise StartError(f"--token-env {variable}: the variable holds no token; set it to a line of ASCII characters")
    return token


def _write(file: Path) -> int:
    import importlib.resources

    source = importlib.resources.files("rbench.remote").joinpath("agent_server.py").read_bytes()
    try:
        with file.open("xb") as target:
            target.write(source)
    except FileExistsError:
        raise UsageError(f"--write {file}: exists already; remove it, or name another file") from None
    except OSError as problem:
        raise UsageError(f"--write {file}: {problem.strerror}; name a file that can be written") from None
    print_text(str(file))
    return 0
