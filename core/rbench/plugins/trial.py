"""Trying out what is not packaged: `--agent module:attribute`."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path

from rbench.contributions import CONTRIBUTIONS, KINDS
from rbench.errors import PluginError, UsageError, did_you_mean
from rbench.plugins.entry import UNPACKAGED, CatalogEntry
from rbench.plugins.validation import is_target


def trial_entry(kind: str, target: str, folder: str | Path | None = None) -> CatalogEntry:
    """An entry for `module:attribute`, imported from the working directory or from the path.

    If the attribute is a class with an attribute `Options`, that is the model of its options.

    Args:
        folder: the folder to import from; default the working directory. A run description keeps it, so that
            workers find the module too.

    Raises:
        UsageError: not of that form, or there is no such module or attribute.
        PluginError: the module raised while it was imported.
    """
    if kind not in KINDS:
        raise UsageError(f"kind {kind!r} is not known.{did_you_mean(kind, KINDS)}")
    if kind == "suite" or not is_target(target):
        raise UsageError(f"{kind} {target!r}: give module:attribute, for example my_module:MyClass")
    record = next(cls for cls in CONTRIBUTIONS if cls.kind == kind)
    entry = CatalogEntry(
        contribution=record(name=target, summary="Not packaged.", target=target),
        distribution=UNPACKAGED,
        version="",
        folder=str(Path.cwd() if folder is None else folder),
    )
    loaded = _loaded(entry)
    if not isinstance(getattr(loaded, "Options", None), type):
        return entry
    return dataclasses.replace(entry, contribution=dataclasses.replace(entry.contribution, options=f"{target}.Options"))


def _loaded(entry: CatalogEntry) -> object:
    target = entry.contribution.target
    module, _, attribute = target.partition(":")
    try:
        return entry.load()
    except PluginError as problem:
        cause = problem.__cause__
        if isinstance(cause, ModuleNotFoundError) and f"{module}.".startswith(f"{cause.name}."):
            raise UsageError(
                f"{entry.kind} {target!r}: there is no module {cause.name!r} in {entry.folder} or on the Python path;"
                " run from the folder that holds it"
            ) from problem
        if isinstance(cause, AttributeError) and cause.name in attribute.split("."):
            near = did_you_mean(attribute, [n for n in vars(importlib.import_module(module)) if not n.startswith("_")])
            raise UsageError(f"{entry.kind} {target!r}: module {module!r} has no {attribute!r}.{near}") from problem
        raise
