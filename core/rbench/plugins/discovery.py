"""Which plugins are installed, read from distribution metadata; nothing is imported."""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from rbench.errors import one_line

GROUP = "rbench"
SELECTION_VARIABLE = "RBENCH_PLUGINS"

#: Distributions that are developed with rbench; only a `-name` in RBENCH_PLUGINS blocks them. Names, never imports.
FIRST_PARTY = (
    "rbench",
    "rbench-agent-moka",
    "rbench-agent-pi0",
    "rbench-agent-remote",
    "rbench-agent-scripted",
    "rbench-agent-sgl",
    "rbench-agent-simple",
    "rbench-factor-appearance",
    "rbench-factor-context",
    "rbench-factor-viewpoint",
    "rbench-metric-bias",
    "rbench-metric-perception",
)


@dataclass(frozen=True)
class FoundPlugin:
    """One entry point in group `rbench`.

    Attributes:
        distribution: normalised name (PEP 503).
        entry: name of the entry point.
        target: `"module"` or `"module:attribute"`.
        blocked: RBENCH_PLUGINS leaves it out.
        incompatible: why its distribution does not fit this rbench, or None.
        damaged: why its metadata cannot be used, or None.
    """

    distribution: str
    version: str
    entry: str
    target: str
    blocked: bool = False
    incompatible: str | None = None
    damaged: str | None = None

    @property
    def name(self) -> str:
        """The name it is registered under; entry names alone may repeat between distributions."""
        return f"{self.distribution}:{self.entry}"


@dataclass(frozen=True)
class PluginSelection:
    """What RBENCH_PLUGINS says: a comma list of distributions, plain to keep, `-name` to leave out.

    Attributes:
        only: the distributions to keep beside the first-party ones; None keeps all.
        without: the distributions to leave out, first-party ones included.
    """

    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str | None) -> PluginSelection:
        """Read the variable; None (not set) selects everything, an empty list only the first-party ones."""
        if text is None:
            return cls()
        items = [item.strip() for item in text.split(",") if item.strip()]
        without = frozenset(str(canonicalize_name(item[1:].strip())) for item in items if item.startswith("-"))
        only = frozenset(str(canonicalize_name(item)) for item in items if not item.startswith("-"))
        return cls(only=None if without and not only else only, without=without)

    def blocks(self, distribution: str) -> bool:
        """Whether a distribution is left out."""
        if distribution in self.without:
            return True
        return self.only is not None and distribution not in self.only and distribution not in FIRST_PARTY

    def unknown(self, installed: Collection[str]) -> list[str]:
        """The names that are no installed plugin distribution."""
        return sorted(((self.only or frozenset()) | self.without) - set(installed))


def find_plugins(environ: Mapping[str, str] | None = None) -> list[FoundPlugin]:
    """Every installed plugin, sorted by distribution and entry; nothing is imported.

    Args:
        environ: the environment that RBENCH_PLUGINS is read from; default `os.environ`.
    """
    selection = PluginSelection.parse((os.environ if environ is None else environ).get(SELECTION_VARIABLE))
    found = [plugin for distribution in _plugin_distributions() for plugin in _plugins_of(distribution)]
    found = [replace(plugin, blocked=selection.blocks(plugin.distribution)) for plugin in found]
    return sorted(found, key=lambda plugin: (plugin.distribution, plugin.entry, plugin.target))


def host_version() -> str | None:
    """The version of rbench itself; None when it is on the path without being installed."""
    try:
        return importlib.metadata.version("rbench")
    except importlib.metadata.PackageNotFoundError:
        return None


def _plugin_distributions() -> Iterator[importlib.metadata.Distribution]:
    """Distributions with an entry point for rbench, each once.

    `importlib.metadata.entry_points` would read all of them in one go, and one unreadable file anywhere on
    the path would then hide every plugin.
    """
    seen: set[str] = set()
    for candidate in importlib.metadata.distributions():
        try:
            if f"[{GROUP}]" not in (candidate.read_text("entry_points.txt") or ""):
                continue
        except (OSError, UnicodeDecodeError):
            continue
        name = _name_of(candidate)
        if name is None:
            yield candidate
        elif name not in seen:
            seen.add(name)
            try:
                # The path may hold several of one name (symlinks, leftovers); the first is what Python imports.
                yield importlib.metadata.distribution(name)
            except importlib.metadata.PackageNotFoundError:
                yield candidate


def _name_of(distribution: importlib.metadata.Distribution) -> str | None:
    try:
        names = distribution.metadata.get_all("Name")
    except Exception:
        return None
    return str(canonicalize_name(names[0])) if names else None


def _plugins_of(distribution: importlib.metadata.Distribution) -> list[FoundPlugin]:
    name = _name_of(distribution)
    if name is None:
        reason = f"the metadata in {distribution.locate_file('')} has no Name; reinstall that distribution"
        return [FoundPlugin("(unnamed)", "", "(unknown)", "", damaged=reason)]
    try:
        version = (distribution.metadata.get_all("Version") or [""])[0]
        requires = list(distribution.requires or ())
        entries = [(e.name, e.value) for e in distribution.entry_points if e.group == GROUP]
    except Exception as problem:
        reason = f"its metadata cannot be read ({one_line(problem)}); reinstall it"
        return [FoundPlugin(name, "", "(unknown)", "", damaged=reason)]
    uses = Counter(entry for entry, _ in entries)
    incompatible = _incompatibility(requires)
    return [
        FoundPlugin(
            name,
            version,
            entry,
            # Extras after an entry point's target ("module [extra]") are an old form without meaning here.
            re.sub(r"\[.*\]\s*$", "", target).replace(" ", ""),
            incompatible=incompatible,
            damaged=f"entry point {entry!r} is declared {uses[entry]} times" if uses[entry] > 1 else None,
        )
        for entry, target in entries
    ]


def _incompatibility(requires: Collection[str]) -> str | None:
    host = host_version()
    if host is None:
        return None
    for text in requires:
        if not re.match(r"rbench(?![\w.-])", text, re.IGNORECASE):
            continue
        try:
            requirement = Requirement(text)
            if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
                continue
            fits = requirement.specifier.contains(host, prereleases=True)
        except (InvalidRequirement, InvalidVersion) as problem:
            return f"its requirement {text!r} cannot be read ({one_line(problem)})"
        if not fits:
            return f"it asks for rbench{requirement.specifier}, this is rbench {host}"
    return None
