"""One usable contribution: where it comes from, how it is imported, which options it takes."""

from __future__ import annotations

import contextlib
import importlib.resources
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rbench.contributions import Contribution
from rbench.errors import PluginError, RbenchError, StartError, UsageError, one_line
from rbench.plugins.importing import import_target, stdout_to_stderr
from rbench.plugins.options import checked_options, located

if TYPE_CHECKING:
    import pydantic

#: Distribution of what was named as `module:attribute`.
UNPACKAGED = "(unpackaged)"


@dataclass(frozen=True)
class CatalogEntry:
    """A contribution in the catalog.

    Attributes:
        missing: those of its `needs` that cannot be imported here.
        conflict: why its short name is not enough, or None.
        folder: the folder that an unpackaged one is imported from; None for all others.
    """

    contribution: Contribution
    distribution: str
    version: str
    missing: tuple[str, ...] = ()
    conflict: str | None = None
    folder: str | None = None

    @property
    def kind(self) -> str:
        return self.contribution.kind

    @property
    def name(self) -> str:
        return self.contribution.name

    @property
    def qualified(self) -> str:
        """The spelling that is never ambiguous: `distribution/name`, or `module:attribute`."""
        return self.name if self.folder is not None else f"{self.distribution}/{self.name}"

    @property
    def label(self) -> str:
        """Kind, name and origin, for messages."""
        origin = UNPACKAGED if self.folder is not None else f"({f'{self.distribution} {self.version}'.rstrip()})"
        return f"{self.kind} {self.name!r} {origin}"

    def load(self) -> Any:
        """Import the target; of a suite: its file, as a `Traversable`.

        Raises:
            StartError: a library that it needs is missing.
            PluginError: the import failed.
        """
        if self.missing:
            raise StartError(self._missing_message())
        if self.kind == "suite":
            return self._suite_file()
        return self._import(self.contribution.target)

    def options_model(self) -> type[pydantic.BaseModel] | None:
        """The model of its options; None when it takes none.

        Raises:
            PluginError: the model cannot be imported, or does not refuse unknown options.
        """
        if self.contribution.options is None:
            return None
        model = self._import(self.contribution.options)
        # Not at the top: listing plugins does not need pydantic.
        from pydantic import BaseModel

        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise PluginError(
                f"{self.label}: its options {self.contribution.options!r} are no pydantic model;"
                " report this to the author of the plugin"
            )
        if model.model_config.get("extra") != "forbid":
            raise PluginError(
                f"{self.label}: its option model {self.contribution.options!r} lacks extra='forbid', so that misspelt"
                " options would be ignored; report this to the author of the plugin"
            )
        return model

    def located_options(self, values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The options as given, with paths (`rbench.LocalPath`) absolute, and the names of these.

        Other processes have other folders.

        Raises:
            PluginError: as `options_model`.
        """
        model = self.options_model() if values else None
        return (dict(values), ()) if model is None else located(model, values)

    def resolve_options(self, values: Mapping[str, Any]) -> pydantic.BaseModel | None:
        """The options with defaults filled in; None when it takes none.

        Raises:
            UsageError: an unknown option (with near names), or a value that is not allowed.
            PluginError: as `options_model`.
        """
        model = self.options_model()
        if model is not None:
            return checked_options(model, values, self.label)
        if values:
            given = ", ".join(repr(name) for name in values)
            raise UsageError(f"{self.label} takes no options, got {given}; leave them out")
        return None

    def doctor(self) -> Any:
        """The function that says what of it works on this machine; None when it has none.

        Raises:
            PluginError: the import failed.
        """
        return None if self.contribution.doctor is None else self._import(self.contribution.doctor)

    def _import(self, target: str) -> Any:
        try:
            with folder_on_path(self.folder), stdout_to_stderr():
                return import_target(target)
        except (KeyboardInterrupt, RbenchError):
            raise
        except BaseException as problem:  # SystemExit too: an import must not end the program
            if self.missing:
                raise StartError(self._missing_message()) from problem
            raise PluginError(
                f"{self.label}: {target!r} could not be imported: {one_line(problem)}. {self._import_hint(problem)}"
            ) from problem

    def _import_hint(self, problem: BaseException) -> str:
        top = (problem.name or "").partition(".")[0] if isinstance(problem, ModuleNotFoundError) else ""
        if top and top != self.contribution.target.partition(".")[0].partition(":")[0]:
            return f"Install what it lacks (perhaps: pip install {top}), or run again with --debug."
        if self.folder is not None:
            return "Correct the module; --debug shows the traceback."
        return f"Reinstall or upgrade {self.distribution}; --debug shows the traceback."

    def _missing_message(self) -> str:
        libraries = ", ".join(self.missing)
        packages = " ".join(dict.fromkeys(need.partition(".")[0] for need in self.missing))
        return (
            f"{self.label} needs {libraries}, not installed here. Install it into this environment"
            f" (perhaps: pip install {packages}; the plugin's README says more)."
        )

    def _suite_file(self) -> Any:
        package, _, file = self.contribution.target.partition(":")
        with stdout_to_stderr():
            try:
                path = importlib.resources.files(package).joinpath(file)
            except ImportError as problem:
                raise PluginError(
                    f"{self.label}: package {package!r} could not be imported: {one_line(problem)}."
                    f" Reinstall {self.distribution}."
                ) from problem
        if not path.is_file():
            raise PluginError(f"{self.label}: {package!r} holds no file {file!r}. Reinstall {self.distribution}.")
        return path


@contextlib.contextmanager
def folder_on_path(folder: str | None) -> Iterator[None]:
    """Import from a folder: first on the path inside, last on it from then on.

    First, so that the user's module wins over an installed one of the same name; last afterwards, so that modules
    beside it can still be imported while it runs, and hide nothing that rbench imports later.
    """
    if folder is None:
        yield
        return
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)
        if folder not in sys.path:
            sys.path.append(folder)
