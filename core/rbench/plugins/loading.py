"""Loading one plugin alone: it works as a whole, or it is left out as a whole with the reason."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import pluggy

from rbench import hookspecs
from rbench.contributions import CONTRIBUTIONS, Contribution
from rbench.errors import PluginError, did_you_mean, one_line
from rbench.plugins.discovery import SELECTION_VARIABLE, FoundPlugin
from rbench.plugins.importing import import_target, stdout_to_stderr
from rbench.plugins.validation import checked_record

PluginStatus = Literal["ok", "broken", "incompatible", "blocked"]

#: Hook name -> type of the records it returns.
HOOKS: dict[str, type[Contribution]] = {f"rbench_{cls.kind.replace('-', '_')}s": cls for cls in CONTRIBUTIONS}

#: An import longer than this (s) is named in a warning: every command waits for it.
SLOW_IMPORT = 1.0

_log = logging.getLogger("rbench.plugins")


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin after the attempt to load it.

    Attributes:
        contributions: what it brings; empty unless the status is `ok`.
        error: one line, why it is left out.
        cause: the exception behind it, for `--debug`.
        claimed: (kind, name) of the records that a broken plugin returned before it failed.
    """

    found: FoundPlugin
    status: PluginStatus
    contributions: tuple[Contribution, ...] = ()
    error: str | None = None
    cause: BaseException | None = None
    claimed: frozenset[tuple[str, str]] = frozenset()

    @property
    def label(self) -> str:
        """Distribution and version, for messages."""
        return f"{self.found.distribution} {self.found.version}".rstrip()


def load_plugin(found: FoundPlugin) -> LoadedPlugin:
    """Import a plugin and collect its records; whatever it does wrong costs itself only.

    `KeyboardInterrupt` passes through. A plugin that is blocked, incompatible or damaged is not imported.
    """
    if found.blocked:
        return LoadedPlugin(found, "blocked", error=f"left out by {SELECTION_VARIABLE}; name it there to use it")
    if found.damaged is not None:
        return LoadedPlugin(found, "broken", error=found.damaged)
    if found.incompatible is not None:
        return LoadedPlugin(found, "incompatible", error=found.incompatible)
    records: list[Contribution] = []
    started = time.perf_counter()
    try:
        with stdout_to_stderr():
            for record in _records(import_target(found.target), found.name):
                records.append(record)  # one by one: what came before a failure is known by name
    except KeyboardInterrupt:
        raise
    except BaseException as cause:
        claimed = frozenset((record.kind, record.name) for record in records)
        return LoadedPlugin(found, "broken", error=one_line(cause), cause=cause, claimed=claimed)
    finally:
        seconds = time.perf_counter() - started
        if seconds > SLOW_IMPORT:
            _log.warning(
                "warning: importing %s (%s) took %.1f s; its plugin module should import nothing heavy",
                found.distribution,
                found.target,
                seconds,
            )
    return LoadedPlugin(found, "ok", contributions=tuple(records))


def _records(plugin: Any, name: str) -> Iterator[Contribution]:
    """Validate a plugin and call its hooks.

    The manager is thrown away: pluggy keeps the live hooks of a plugin whose validation failed, so that a
    manager shared by all would run half of a broken plugin.

    Raises:
        PluginError: a hook that does not exist or asks for arguments, no hook at all, an invalid record.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, name)
    _check_hook_names(manager, plugin)
    taken: set[tuple[str, str]] = set()
    for hook, kind in HOOKS.items():
        for result in _results(getattr(manager.hook, hook), f"{hook}()"):
            if isinstance(result, str) or not isinstance(result, Iterable):
                raise PluginError(f"{hook}() must return an iterable of {kind.__name__}, got {type(result).__name__}")
            for item in result:
                record = checked_record(item, kind, f"{hook}()")
                if (record.kind, record.name) in taken:
                    raise PluginError(f"{hook}() yields the name {record.name!r} twice")
                taken.add((record.kind, record.name))
                yield record


def _check_hook_names(manager: pluggy.PluginManager, plugin: Any) -> None:
    callers = manager.get_hookcallers(plugin) or []
    for caller in callers:
        if not caller.has_spec() and not all(impl.optionalhook for impl in caller.get_hookimpls()):
            raise PluginError(f"there is no hook {caller.name!r}.{did_you_mean(caller.name, HOOKS)}")
    implemented = {caller.name for caller in callers}
    unmarked = [hook for hook in HOOKS if hook not in implemented and callable(getattr(plugin, hook, None))]
    if unmarked or not callers:
        what = f"{unmarked[0]}() is not a hook yet" if unmarked else "it implements no hook"
        raise PluginError(f"{what}: decorate its functions with @rbench.hookimpl")


def _results(caller: pluggy.HookCaller, hook: str) -> list[Any]:
    implementations = caller.get_hookimpls()
    if any(impl.wrapper or impl.hookwrapper for impl in implementations):
        raise PluginError(f"{hook} is a hook wrapper; hooks of rbench only return records")
    results: list[Any] = caller()
    if len(results) < len(implementations):  # pluggy drops None
        raise PluginError(f"{hook} returned None; return or yield its records")
    return results
