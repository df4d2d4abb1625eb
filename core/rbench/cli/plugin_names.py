"""`KIND:NAME` on the command line."""

from __future__ import annotations

from collections.abc import Collection

from rbench.contributions import KINDS
from rbench.errors import UsageError, did_you_mean
from rbench.plugins.catalog import Catalog, CatalogEntry
from rbench.plugins.trial import trial_entry


def split_plugin(text: str, kinds: Collection[str] = KINDS) -> tuple[str, str]:
    """Kind and name of `KIND:NAME`; NAME may itself be `module:attribute` or `distribution/name`.

    Raises:
        UsageError: no kind, no name, or a kind that is not one of `kinds`.
    """
    kind, colon, name = text.partition(":")
    if not colon or not name:
        raise UsageError(f"{text!r} names no plugin; give KIND:NAME, for example agent:{text.strip(':') or 'expert'}")
    if kind not in kinds:
        raise UsageError(f"{text!r}: kind {kind!r} is not one of {', '.join(kinds)}.{did_you_mean(kind, kinds)}")
    return kind, name


def find_plugin(catalog: Catalog, kind: str, name: str) -> CatalogEntry:
    """The contribution of a name, or an unpackaged one of `module:attribute` in the working directory.

    Raises:
        UsageError: unknown. PluginError: its plugin is not usable.
    """
    return trial_entry(kind, name) if ":" in name else catalog.get(kind, name)
