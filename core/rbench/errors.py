"""Every error that rbench raises on purpose.

::

    RbenchError                     has a message that says what to do; carries an exit code
    ├── UsageError            (2)   unknown name or option, corrupt suite, zero episodes
    │   └── SuiteError        (2)   a suite file that cannot be read; names file, line and key
    ├── StartError            (3)   a plugin, the GL backend, a key or a folder that is not usable
    │   └── PluginError       (3)   one plugin that could not be loaded or validated
    ├── StoppedEarly          (4)   the run stopped before its end and can be resumed
    ├── AgentError            (1)   the agent broke its contract; costs one episode
    ├── InfrastructureError   (1)   something outside the agent failed; the episode is retried
    ├── NoAnswer              (1)   a vision model replied, but not with an answer; agents ask again or stop
    ├── UnstableSimulation    (1)   the simulated state diverged; costs one episode
    └── StaleObservation      (1)   a camera was read after the world had moved on
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from typing import Any


class RbenchError(Exception):
    """Base of all errors raised on purpose. The message ends with what to do."""

    exit_code = 1


class UsageError(RbenchError):
    """The caller asked for something that does not exist or cannot be."""

    exit_code = 2


class SuiteError(UsageError):
    """A suite file is not valid; the message names the file, the line and the key."""


class StartError(RbenchError):
    """Something on this machine keeps the work from starting."""

    exit_code = 3


class PluginError(StartError):
    """A plugin could not be loaded, or is needed and not usable."""


class StoppedEarly(RbenchError):
    """The run stopped before its plan was finished; everything done is on disk."""

    exit_code = 4


class AgentError(RbenchError):
    """An agent broke its contract (wrong shape, NaN, empty chunk, exception)."""


class InfrastructureError(RbenchError):
    """A server, the renderer or a worker failed; the agent is not to blame."""


class NoAnswer(RbenchError):
    """A vision model replied, but not with an answer to the question. Agents ask again, or stop with a reason.

    Attributes:
        kind: `truncated` (cut off at the token limit), `refused`, `empty`, `server_error` (an error in place of a
            reply), `unparsable`, `invalid` (not what the question asks for) or `bad_boxes`.
        raw: the whole reply as it came.
        repairs: names of what was mended before it failed.
        usage: what the reply cost (`rbench.interfaces.vision.Usage`), when known.
    """

    def __init__(
        self, message: str, *, kind: str, raw: str | None = None, repairs: tuple[str, ...] = (), usage: Any = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.raw = raw
        self.repairs = repairs
        self.usage = usage


class UnstableSimulation(RbenchError):
    """The simulator reported a diverged state."""


class StaleObservation(RbenchError):
    """An image was read after the world had moved on."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence that suggests near names, or lists the known ones when there are few.

    Returns an empty string when there is nothing useful to say.
    """
    names = sorted(set(known))
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if near:
        return " Did you mean " + " or ".join(repr(n) for n in near) + "?"
    if names and len(names) <= 12:
        return " Known: " + ", ".join(names) + "."
    return ""


#: Unicode categories without a mark of their own: control and format characters, line separators, lone surrogates.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
#: Of these, what ordinary text needs: lines, tabs, and the joiners of some scripts and emoji.
_ORDINARY = frozenset("\n\t\u200c\u200d")


def visible(text: str) -> str:
    """Text as it may be shown on a terminal: characters that steer it or turn the reading direction are escaped.

    Names, summaries, reasons and messages come from plugins, servers and records; an escape sequence in them could
    clear the screen or write something else over what stands there. Line ends and tabs stay.
    """
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in _INVISIBLE and c not in _ORDINARY else c
        for c in text
    )


def message_of(problem: BaseException) -> str:
    """What an exception says, also when reading it raises: exceptions of plugins and agents are their code too."""
    try:
        return str(problem)
    except (Exception, SystemExit):
        return "(its message cannot be read)"


def one_line(problem: BaseException) -> str:
    """An exception as one printable line, `Type: message`, as a traceback would end."""
    message = message_of(problem)
    text = "".join(c if c.isprintable() else " " for c in f"{type(problem).__name__}: {message}")
    line = " ".join(text.split()).rstrip(":")
    return line if len(line) <= 500 else line[:497] + "..."
