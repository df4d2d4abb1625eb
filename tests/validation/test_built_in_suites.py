from __future__ import annotations

from importlib.resources import files

import pytest

from rbench.plugins.catalog import Catalog
from rbench.suites.loading import load_suite
from rbench.validation.gate import Views, chosen_instances
from rbench.validation.solvability import physical_contexts


@pytest.mark.parametrize(("name", "instances"), [("roboview-bias", 2127)])
def test_a_built_in_suite_ships_the_accepted_validation_of_its_hash(
    name: str, instances: int, catalog: Catalog
) -> None:
    validated = load_suite(catalog, name).validated
    assert validated is not None, f"{name} changed: validate it again and ship the new {name}.validation.json"
    measured = validated.stages["measured"]
    assert measured["instances"] == instances
    assert measured["pass_rate"] >= validated.rule


def test_what_looks_alike_is_looked_at_once(catalog: Catalog) -> None:
    suite = load_suite(catalog, "roboview-bias")
    views = Views(suite, chosen_instances(suite))
    assert (views.count, len(views.groups)) == (1358, 266)
    assert views.shown_by("color/red/instruction-i3") == views.shown_by("color/red/position-p1")
    assert views.shown_by("color/red/position-p2") != views.shown_by("color/red/position-p1")


def test_the_expert_tries_every_shape_and_position_once(catalog: Catalog) -> None:
    suite = load_suite(catalog, "roboview-bias")
    contexts = physical_contexts(suite, chosen_instances(suite))
    assert len(contexts) == 7
    assert sum(len(context.instances) for context in contexts) == 2127
    assert contexts[0].contexts == (
        "position-p1",
        "shape-cube",
        "instruction-i1",
        "instruction-i2",
        "instruction-i3",
        "base",
    )


def test_the_rules_stand_in_the_file_of_the_suite_with_their_reasons() -> None:
    text = files("rbench.suites").joinpath("roboview-bias.toml").read_text()
    table = text.split("\n[validation]\n")[1].split("\n\n")[0]
    reasons = [line.partition("#")[2].strip() for line in table.splitlines()]
    assert sum(bool(reason) for reason in reasons) >= len(reasons) - 1
