"""The catalog: everything that the installed plugins contribute, and why the rest is not there."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from packaging.utils import canonicalize_name

from rbench.contributions import KINDS
from rbench.errors import PluginError, UsageError, did_you_mean
from rbench.plugins.discovery import SELECTION_VARIABLE, PluginSelection, find_plugins
from rbench.plugins.entry import CatalogEntry
from rbench.plugins.importing import is_importable
from rbench.plugins.loading import LoadedPlugin, load_plugin
from rbench.plugins.requirements import check_requirements

STRICT_VARIABLE = "RBENCH_STRICT_PLUGINS"
SEE = "Run `rbench list-plugins` to see what is installed."

__all__ = ["Catalog", "CatalogEntry", "build_catalog"]

_log = logging.getLogger("rbench.plugins")


def build_catalog(environ: Mapping[str, str] | None = None, only: Collection[str] | None = None) -> Catalog:
    """Find and load the installed plugins; nothing is remembered between calls.

    Args:
        environ: where RBENCH_PLUGINS and RBENCH_STRICT_PLUGINS are read from; default `os.environ`.
        only: the distributions to load (workers load what their run names); default all.

    Raises:
        PluginError: a plugin is broken or incompatible, and RBENCH_STRICT_PLUGINS is set.
    """
    environ = os.environ if environ is None else environ
    found = find_plugins(environ)
    if only is None:
        _warn_of_unknown_names(environ, {plugin.distribution for plugin in found})
    else:
        wanted = {str(canonicalize_name(name)) for name in only}
        found = [plugin for plugin in found if plugin.distribution in wanted]
    plugins = [load_plugin(plugin) for plugin in found]
    if environ.get(STRICT_VARIABLE, "0") not in ("", "0"):
        _refuse_broken(plugins)
    return Catalog(plugins)


class Catalog:
    """What the plugins contribute, by kind and name. The order in which they were loaded never matters."""

    def __init__(self, plugins: Iterable[LoadedPlugin]) -> None:
        self._plugins = sorted(plugins, key=lambda plugin: plugin.found.name)
        self._entries = _entries(self._plugins)

    def entries(self, kind: str | None = None) -> list[CatalogEntry]:
        """The contributions of one kind, or all: sorted by kind, name and distribution."""
        return [entry for entry in self._entries if kind is None or entry.kind == kind]

    def rows(self) -> list[dict[str, Any]]:
        """What `rbench list-plugins` prints; plugins without a contribution come last, with kind None."""
        rows = [
            _row(
                kind=entry.kind,
                name=entry.name,
                distribution=entry.distribution,
                version=entry.version,
                status="conflict" if entry.conflict else "ok",
                summary=entry.contribution.summary,
                error=entry.conflict,
                needs=entry.missing,
            )
            for entry in self._entries
        ]
        for plugin in self._plugins:
            if not plugin.contributions:
                rows.append(
                    _row(
                        name=plugin.found.entry,
                        distribution=plugin.found.distribution,
                        version=plugin.found.version,
                        status=plugin.status,
                        summary="Contributes nothing." if plugin.status == "ok" else None,
                        error=plugin.error,
                    )
                )
        return rows

    def get(self, kind: str, name: str) -> CatalogEntry:
        """The contribution of a short name, or of `distribution/name`.

        Raises:
            UsageError: unknown (with near names), or a short name that two distributions share.
            PluginError: its plugin is broken, incompatible or blocked.
        """
        if kind not in KINDS:
            raise UsageError(f"kind {kind!r} is not known.{did_you_mean(kind, KINDS)}")
        prefix, slash, short = name.rpartition("/")
        distribution = str(canonicalize_name(prefix)) if slash else None
        found = [
            entry for entry in self.entries(kind) if entry.name == short and distribution in (None, entry.distribution)
        ]
        if not found:
            raise self._not_found(kind, name, short, distribution)
        if len(found) > 1:
            raise UsageError(f"{kind} {name!r} is not unique: {found[0].conflict}")
        return found[0]

    def make(self, kind: str, name: str, options: Mapping[str, Any] | None = None, *arguments: Any) -> Any:
        """Check the options, import the target and call it: `target(options, *arguments)`.

        What the target itself raises is passed on.

        Raises:
            UsageError: as `get`; or options that are not allowed; or a suite, which is data.
            StartError: a library that it needs is missing, or its plugin is not usable.
        """
        entry = self.get(kind, name)
        if kind == "suite":
            raise UsageError(f"{entry.label} is a file and cannot be called; load it as a suite")
        resolved = entry.resolve_options(options or {})
        return entry.load()(resolved, *arguments)

    def require(self, requirements: Sequence[str], where: str) -> None:
        """Check requirements (PEP 508) such as `rbench-agent-moka>=0.2` before work starts.

        Args:
            where: who asks for them, for the message.

        Raises:
            UsageError: a requirement that cannot be read.
            StartError: what is missing, too old or not usable, with the command that fixes it.
        """
        unusable = {p.found.distribution: f"{p.label} {_state(p)}" for p in self._plugins if p.status != "ok"}
        check_requirements(requirements, where, unusable)

    def _not_found(self, kind: str, name: str, short: str, distribution: str | None) -> UsageError | PluginError:
        unusable = [plugin for plugin in self._plugins if plugin.status != "ok"]
        if distribution is not None:
            suspects = [plugin for plugin in unusable if plugin.found.distribution == distribution]
        else:
            suspects = [plugin for plugin in unusable if _may_bring(plugin, kind, short)]
        if suspects:
            reasons = " ".join(f"The plugin {plugin.label} {_state(plugin)}." for plugin in suspects)
            return PluginError(f"{kind} {name!r} is not available. {reasons} {SEE}")
        entries = self.entries(kind)
        known = [entry.name for entry in entries]
        if distribution is not None:
            known = [entry.qualified for entry in entries if entry.distribution == distribution] or [
                entry.qualified for entry in entries
            ]
        hint = did_you_mean(name, known)
        elsewhere = sorted({entry.kind for entry in self._entries if entry.name == short} - {kind})
        if elsewhere:
            hint += f" That is the name of another kind: {', '.join(elsewhere)}."
        # It may be one of theirs, or a slip of the pen: without loading them nobody knows.
        hint += "".join(f" The plugin {plugin.label} {_state(plugin)}." for plugin in unusable[:3])
        return UsageError(f"{kind} {name!r} is not known.{hint} {SEE}")


def _entries(plugins: Iterable[LoadedPlugin]) -> list[CatalogEntry]:
    importable = cache(is_importable)
    entries = [
        CatalogEntry(
            contribution=record,
            distribution=plugin.found.distribution,
            version=plugin.found.version,
            missing=tuple(need for need in record.needs if not importable(need)),
        )
        for plugin in plugins
        for record in plugin.contributions
    ]
    shared = Counter((entry.kind, entry.name) for entry in entries)
    entries.sort(key=lambda entry: (KINDS.index(entry.kind), entry.name, entry.distribution))
    return [
        entry
        if shared[entry.kind, entry.name] == 1
        else _with_conflict(entry, [e for e in entries if (e.kind, e.name) == (entry.kind, entry.name)])
        for entry in entries
    ]


def _with_conflict(entry: CatalogEntry, all_of_them: list[CatalogEntry]) -> CatalogEntry:
    origins = " and ".join(f"{e.distribution} {e.version}".rstrip() for e in all_of_them)
    spellings = list(dict.fromkeys(e.qualified for e in all_of_them))
    if len(spellings) < len(all_of_them):
        advice = "one distribution brings it twice, which only its author can correct"
    else:
        advice = "write " + " or ".join(spellings)
    return CatalogEntry(
        contribution=entry.contribution,
        distribution=entry.distribution,
        version=entry.version,
        missing=entry.missing,
        conflict=f"{entry.kind} {entry.name!r} comes from {origins}; {advice}",
    )


def _may_bring(plugin: LoadedPlugin, kind: str, name: str) -> bool:
    """Whether a plugin that did not load is likely the one that brings a name."""
    if (kind, name) in plugin.claimed or name == plugin.found.entry:
        return True
    return f"-{plugin.found.distribution}-".endswith(f"-{canonicalize_name(name)}-")


def _state(plugin: LoadedPlugin) -> str:
    said = {"broken": "did not load", "incompatible": "is incompatible", "blocked": "is blocked"}[plugin.status]
    return f"{said}: {(plugin.error or '').rstrip('.')}"


def _row(
    *,
    kind: str | None = None,
    name: str,
    distribution: str,
    version: str,
    status: str,
    summary: str | None,
    error: str | None,
    needs: Sequence[str] = (),
) -> dict[str, Any]:
    return {
        "kind": kind,
        "name": name,
        "distribution": distribution,
        "version": version,
        "status": status,
        "summary": summary,
        "error": error,
        "needs": list(needs),
    }


def _warn_of_unknown_names(environ: Mapping[str, str], installed: set[str]) -> None:
    for name in PluginSelection.parse(environ.get(SELECTION_VARIABLE)).unknown(installed):
        hint = did_you_mean(name, installed)
        _log.warning("warning: %s names %r, which is no installed plugin.%s", SELECTION_VARIABLE, name, hint)


def _refuse_broken(plugins: Iterable[LoadedPlugin]) -> None:
    broken = [plugin for plugin in plugins if plugin.status in ("broken", "incompatible")]
    if broken:
        reasons = "; ".join(f"{plugin.label} ({plugin.found.entry}) {_state(plugin)}" for plugin in broken)
        raise PluginError(
            f"{reasons}. {STRICT_VARIABLE} is set, so this is fatal: correct or uninstall them, or unset it."
        ) from broken[0].cause
