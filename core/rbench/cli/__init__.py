"""Command line: one command a file, loaded when called.

Exit codes: 0 clean; 1 something failed that was not foreseen, or a command says so; 2 wrong use; 3 could not start;
4 stopped early; 129, 130 and 143 interrupted; 141 the reader of stdout went away.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import select
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

import click

from rbench.cli.output import accept_any_character, debug_wanted, open_standard_streams, print_error, print_note
from rbench.errors import RbenchError, UsageError, did_you_mean

#: Command -> (target, help). The help stands here so that `rbench --help` imports no command.
COMMANDS: dict[str, tuple[str, str]] = {
    "list-plugins": ("rbench.cli.list_plugins:command", "Everything that is installed, and what did not load and why."),
    "describe": ("rbench.cli.describe:command", "Options, needs, cameras and origin of a plugin, and how it is used."),
    "show": ("rbench.cli.show:command", "A suite: tasks, dimensions, levels, contexts and counts."),
    "instances": ("rbench.cli.instances:command", "The instances of a suite, one a line."),
    "render": ("rbench.cli.render:command", "What an agent would see of an instance, as a picture."),
    "run": ("rbench.cli.run:command", "Run an agent over a suite; ends with the table."),
    "resume": ("rbench.cli.resume:command", "Go on with a run that ended early; runs exactly what is missing."),
    "merge": ("rbench.cli.merge:command", "Put the shards of a run together, as one run directory."),
    "status": ("rbench.cli.status:command", "How far a run is."),
    "report": ("rbench.cli.report:command", "Tables, a page and figures of runs, also half-finished ones."),
    "compare": ("rbench.cli.compare:command", "Two runs against each other, over the episodes that both have."),
    "export": ("rbench.cli.export:command", "Write the records of a run to a file."),
    "collect": ("rbench.cli.collect:command", "Demonstrations for training, in the formats that trainers read."),
    "openpi-recipe": ("rbench.cli.openpi_recipe:command", "Files with which openpi fine-tunes pi0 on a data set."),
    "review": ("rbench.cli.review:command", "People read the pictures that a validation asks about."),
    "doctor": ("rbench.cli.doctor:command", "What works on this machine, and the line that fixes what does not."),
    "validate": ("rbench.cli.validate:command", "Whether every instance of a suite can be seen, measured and asked."),
    "new-plugin": ("rbench.cli.new_plugin:command", "A new plugin: a complete distribution that works, to be changed."),
    "check-plugin": ("rbench.cli.check_plugin:command", "Whether a plugin keeps the contract, and how to mend it."),
    "replay": ("rbench.cli.replay:command", "The recorded actions of an episode again, byte for byte, and films."),
    "serve-agent": ("rbench.cli.serve_agent:command", "Serve an agent to runs in other environments."),
    "verify": ("rbench.cli.verify:command", "Whether a run is whole, and a random part of it happens again."),
}

USAGE, INTERRUPTED, PIPE_CLOSED = 2, 130, 141

#: Signals that end work like Ctrl-C does: a system that ends jobs, a terminal that is closed.
_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP arrived. It ends work like Ctrl-C does, with the exit code of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            hint = did_you_mean(args[0], COMMANDS)
            raise UsageError(f"there is no command {args[0]!r}.{hint} See: {ctx.command_path} --help")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="rbench", prog_name="rbench", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, expose_value=False, help="Show tracebacks (also RBENCH_DEBUG=1).")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Which visual factor breaks a manipulation agent, by how much, and how sure that is."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code. A command returns its own code, or None for 0."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = debug_wanted(given)
    open_standard_streams()
    accept_any_character()
    try:
        with _terminable():
            code = _call(given)
            sys.stdout.flush()
            return code
    except KeyboardInterrupt as stop:
        if arguments is None:
            _end_undisturbed()
        print_note("interrupted")
        return stop.exit_code if isinstance(stop, Terminated) else INTERRUPTED
    except click.Abort:
        print_note("interrupted")
        return INTERRUPTED
    except BrokenPipeError as problem:
        if _reader_is_gone():
            _drop_stdout()
            return PIPE_CLOSED
        print_error(problem, debug)
        return 1
    except Exception as problem:
        if isinstance(problem, OSError) and problem.filename is None and (reason := _stdout_refuses()):
            _drop_stdout()
            problem = _no_stdout(reason, problem)
        print_error(problem, debug)
        if isinstance(problem, RbenchError):
            return problem.exit_code
        return USAGE if isinstance(problem, click.ClickException) else 1


def _refuse_empty(arguments: list[str]) -> None:
    """Refuse an argument without a character: no name and no path is empty, but an unset variable of a shell is.

    Taken as a path it would be the working directory.

    Raises:
        UsageError: names the option, or the place of the argument.
    """
    for place, argument in enumerate(arguments):
        named = re.fullmatch(r"(--[a-z-]+)=", argument)
        if argument and not named:
            continue
        before = arguments[place - 1] if place else ""
        option = named[1] if named else before if before.startswith("-") and before != "--" else ""
        what = f"{option} is given nothing" if option else f"argument {place + 1} is empty"
        raise UsageError(f"{what}; give a name or a path (a variable of the shell may not be set)")


def _call(arguments: list[str]) -> int:
    _refuse_empty(arguments)
    # What `cli.main(standalone_mode=False)` does, less one thing: that turns any broken pipe, also one to a policy
    # server, into a silent exit.
    try:
        with cli.make_context("rbench", arguments) as context:
            result: Any = cli.invoke(context)
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    return result if isinstance(result, int) else 0


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    def terminate(signum: int, frame: FrameType | None) -> NoReturn:
        raise Terminated(signum)

    before = {}
    try:
        for number in _ENDING:
            if number == signal.SIGTERM or signal.getsignal(number) is signal.SIG_DFL:  # nohup had it ignored
                before[number] = signal.signal(number, terminate)
    except ValueError:  # not in the main thread: signals are not ours to handle
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end_undisturbed() -> None:
    """Ignore what a second Ctrl-C sends: in the last moments of an interpreter it would change the exit code."""
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in (signal.SIGINT, *_ENDING):
            signal.signal(number, signal.SIG_IGN)


def _reader_is_gone() -> bool:
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (AttributeError, OSError, ValueError):  # no poll on this system, or stdout is no file
        return True


def _stdout_refuses() -> str:
    """Why stdout takes no more, such as a full disk; empty when it does."""
    try:
        # The error does not say which file it is of, and Python forgets what it could not write: try the least.
        os.write(sys.stdout.fileno(), b"\n")
    except ValueError:  # it is no file, or closed
        return ""
    except OSError as problem:
        return problem.strerror or type(problem).__name__
    return ""


def _no_stdout(reason: str, cause: OSError) -> RbenchError:
    problem = RbenchError(
        f"standard output: {reason}. Send it to a place that takes it and call the command again; after `rbench run`,"
        " whose episodes are on disk, call `rbench report DIR`."
    )
    problem.__cause__ = cause  # for --debug
    return problem


def _drop_stdout() -> None:
    # The interpreter flushes stdout once more at exit and would complain about the closed pipe.
    with contextlib.suppress(OSError, ValueError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, sys.stdout.fileno())
        os.close(devnull)
