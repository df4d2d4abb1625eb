"""The page on suites keeps up with the schema."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.plugins.catalog import build_catalog
from rbench.suites import schema
from rbench.suites.loading import load_suite
from rbench.tasks.predicates import PREDICATES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "suites.md").read_text()

TABLES = {
    "## Top level": schema.SuiteTable,
    "## `[[tasks]]`": schema.TaskTable,
    "## `[factors.NAME]`": schema.FactorTable,
    "## `[contexts]`": schema.ContextsTable,
    "## `[[interactions]]`": schema.InteractionTable,
    "## `[protocol]`": schema.ProtocolTable,
    "## `[presets.NAME]`": schema.PresetTable,
    "## `[validation]`": schema.ValidationTable,
}


@pytest.mark.parametrize("heading", TABLES)
def test_every_key_of_a_table_has_its_line(heading: str) -> None:
    section = PAGE.split(f"\n{heading}\n")[1].split("\n## ")[0]
    told = {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")}
    keys = {field.alias or name for name, field in TABLES[heading].model_fields.items()}
    own = {"tasks", "factors", "contexts", "interactions", "protocol", "presets", "validation"}
    elsewhere = own if "Top" in heading else set()
    assert keys - elsewhere <= told


def test_every_predicate_has_its_line_with_its_arguments() -> None:
    for name, predicate in PREDICATES.items():
        assert f"\n| `{name}` | {', '.join(predicate.parameters)} | " in PAGE


def test_the_smallest_file_of_the_page_is_a_suite(suite_file: Callable[[str], Path]) -> None:
    text = PAGE.split("```toml\n")[1].split("```")[0]
    tomllib.loads(text)
    assert load_suite(build_catalog(), str(suite_file(text))).instances() == 141
