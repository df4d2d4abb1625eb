"""Suites by name or path."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath

from rbench.errors import PluginError, UsageError, one_line
from rbench.plugins.catalog import Catalog
from rbench.suites.building import build_suite
from rbench.suites.document import Document
from rbench.suites.schema_errors import check_schema_number, read_suite_table
from rbench.suites.suite import Suite, SuiteFactor
from rbench.suites.suite_factors import read_factors
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.tasks.task import Task


def load_suite(catalog: Catalog, name_or_path: str) -> Suite:
    """The suite of a name (`roboview-bias`, `distribution/name`) or of the path of a `.toml` file.

    Raises:
        UsageError: there is no suite of that name.
        SuiteError: the file is not a valid suite; the message names file, line and key.
        StartError: a plugin that the suite requires is missing or cannot be used.
    """
    if name_or_path.endswith(".toml"):
        path = Path(name_or_path)
        return _load(
            catalog, Document.read(path, name_or_path), source=str(path.resolve()), folder=path.parent, name=path.name
        )
    entry = catalog.get("suite", name_or_path)
    file = entry.load()
    package, _, name = entry.contribution.target.partition(":")
    folder = files(package).joinpath(*PurePosixPath(name).parent.parts)
    suite = _load(
        catalog, Document.read(file, str(file)), source=entry.qualified, folder=folder, name=PurePosixPath(name).name
    )
    if suite.name != entry.name:
        raise PluginError(
            f"suite {entry.qualified} calls itself {suite.name!r} in {file}. Its plugin and its file must agree."
        )
    return suite


def _load(catalog: Catalog, document: Document, *, source: str, folder: Traversable | Path, name: str) -> Suite:
    check_schema_number(document)
    requires = document.data.get("requires")
    if isinstance(requires, list) and all(isinstance(item, str) for item in requires):
        # Before anything else: a missing plugin is the likeliest reason for every other mistake.
        try:
            catalog.require(requires, document.source)
        except UsageError as problem:
            raise document.error(("requires",), str(problem)) from problem
    table = read_suite_table(document)
    factors = read_factors(document, table, catalog)
    suite = build_suite(document, table, factors, source=source, folder=folder, file=name)
    _check_setups(document, suite)
    return suite


def _check_setups(document: Document, suite: Suite) -> None:
    """Apply every level to every task's scene once, so that a wrong name does not wait for its episode."""
    manager = RecursiveVariantTaskManager(suite)
    for i, task in enumerate(suite.tasks):
        for factor in suite.factors.values():
            _apply_all(document, manager, task, factor)
        told = task.instruction or any(
            factor.changes(factor.baseline)
            and factor.factor.apply(manager.base_setup(task), factor.level(factor.baseline)).instruction
            for factor in suite.factors.values()
        )
        if not told:
            raise document.error(
                ("tasks", i, "instruction"),
                'missing, and no factor\'s baseline gives an instruction. Add `instruction = "..."` to the task.',
            )


def _apply_all(document: Document, manager: RecursiveVariantTaskManager, task: Task, factor: SuiteFactor) -> None:
    setup = manager.base_setup(task)
    for level in factor.levels:
        try:
            factor.factor.apply(setup, level)
        except Exception as problem:
            raise document.error(
                ("factors", factor.name),
                f"level {level.name!r} cannot be applied to task {task.name!r}: {one_line(problem)}. "
                "Correct the factor's options, or the scene.",
            ) from problem
