"""What is checked of contributions that are called with their options alone: factors and metrics."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from rbench.errors import PluginError, RbenchError, StartError, UsageError, one_line
from rbench.plugins.catalog import Catalog, CatalogEntry, build_catalog
from rbench.plugins.importing import stdout_to_stderr
from rbench.plugins.trial import trial_entry
from rbench.testing.checks import CheckFailed, CheckSkipped
from rbench.testing.elsewhere import said_elsewhere
from rbench.testing.subjects import Expectations, part_of


class CalledSubject:
    """A factor or a metric under test, by name or `module:attribute`, with its options."""

    kind: str
    #: The class that it must be an instance of, and how authors import that.
    base_class: ClassVar[type]

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        vision: str | None = None,
        vision_options: Mapping[str, Any] | None = None,
        folder: str | Path | None = None,
        expectations: Expectations | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        if vision or vision_options:
            raise UsageError(f"{self.kind} {name!r} is given no vision model; leave --vision and -v out")
        self.name = name
        self.part = part_of(name, options, folder)
        self.expect = expectations or Expectations()
        self._catalog = catalog

    @cached_property
    def catalog(self) -> Catalog:
        """What is installed."""
        return self._catalog or build_catalog()

    @cached_property
    def entry(self) -> CatalogEntry:
        """The contribution under test.

        Raises:
            UsageError: an unknown name. PluginError: its plugin is not usable.
        """
        if ":" in self.name:
            return trial_entry(self.kind, self.name, self.part.folder)
        return self.catalog.get(self.kind, self.name)

    def prepare(self) -> None:
        """Say at once what no check can say better.

        Raises:
            UsageError: an unknown name or option.
            StartError: a library that it needs is missing. PluginError: its plugin is not usable.
        """
        try:
            self.entry.load()
            self.entry.resolve_options(self.part.options)
        except RbenchError:
            raise
        except Exception as problem:
            raise StartError(f"{self.kind} {self.name!r} could not be loaded: {one_line(problem)}") from problem

    def recipe(self) -> dict[str, Any]:
        """What makes this subject again in another process, as plain data (`kinds.subject_of`)."""
        return {
            "kind": self.kind,
            "name": self.part.name,
            "options": dict(self.part.options),
            "folder": self.part.folder,
        }

    def build(self) -> Any:
        """A fresh instance; what its constructor raises is passed on."""
        with stdout_to_stderr():
            return self.entry.load()(self.entry.resolve_options(self.part.options))

    def made(self) -> Any:
        """A fresh instance.

        Raises:
            CheckSkipped: it cannot be made, which check `construct` says.
        """
        try:
            found = self.build()
        except Exception as problem:
            raise CheckSkipped("it could not be made; see check 'construct'") from problem
        if not isinstance(found, self.base_class):
            raise CheckSkipped("it is of the wrong class; see check 'construct'")
        return found

    def require_constructible(self) -> None:
        """What the check `construct` of its kind demands.

        Raises:
            CheckFailed: it cannot be made, or is of another class.
        """
        for _ in range(2):
            try:
                found = self.build()
            except PluginError:
                raise
            except Exception as problem:
                raise CheckFailed(
                    f"it could not be made: {problem if isinstance(problem, RbenchError) else one_line(problem)}",
                    "the target is called with (options), which is None when it has no model of options; options that"
                    " it cannot do without are given with -o",
                ) from problem
            if not isinstance(found, self.base_class):
                raise CheckFailed(
                    f"the target gave a {type(found).__name__}, which is no {self.base_class.__name__}",
                    f"subclass {self.base_class.__module__}.{self.base_class.__name__}",
                )

    def in_another_process(self) -> Any:
        """What `another_process.print_facts` says there, where sets have another order.

        Raises:
            CheckFailed: it could not say anything.
        """
        return json.loads(said_elsewhere("print_facts", self.recipe()))
