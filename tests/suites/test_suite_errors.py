"""What is wrong with a suite file is told early: file, line, key, what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.errors import PluginError, StartError, SuiteError, UsageError
from rbench.plugins.catalog import Catalog
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite


def line_of(text: str, fragment: str) -> int:
    return text[: text.index(fragment)].count("\n") + 1


MISTAKES = [
    ("limit = 10.0", "limti = 10.0", "tasks[0].limti", "Did you mean 'limit'?"),
    ("limit = 10.0", "", "tasks[0].limit", "missing. Add `limit = ...`"),
    ("limit = 10.0", "limit = 0", "tasks[0].limit", "greater than 0, but it is 0"),
    ("limit = 10.0", "limit = nan", "tasks[0].limit", "finite number"),
    ("limit = 10.0", 'limit = "10"', "tasks[0].limit", "valid number"),
    ("limit = 10.0", "limit = 0.1", "tasks[0].hold", "shorter than the limit"),
    ("limit = 10.0", 'limit = 10.0\nkind = "question"', "tasks[0].kind", 'Use kind = "manipulation"'),
    ('name = "put-in"', 'name = "Put In"', "tasks[0].name", "Use lower-case letters"),
    ('name = "small"', "name = 3", "name", "valid string, but it is 3"),
    ('scene = "tiny.toml"', 'scene = "tinny.toml"', "tasks[0].scene", "cannot be read"),
    ('scene = "tiny.toml"', 'scene = "ti\\u0000ny.toml"', "tasks[0].scene", "NUL character"),
    ('scene = "tiny.toml"', 'scene = "nowhere"', "tasks[0].scene", "no built-in scene 'nowhere'"),
    ("released =", "relaesed =", "tasks[0].goal[1].relaesed", "Did you mean 'released' or"),
    ('released = "geometry"', 'released = "geometri"', "tasks[0].goal[1].released", "Did you mean 'geometry'?"),
    ('released = "geometry"', "released = { thing = 1 }", "tasks[0].goal[1].released.thing", 'object = "..."'),
    ('container = "box"', 'container = "marker"', "tasks[0].goal[0].in_container.container", "no container 'marker'"),
    (', container = "box"', "", "tasks[0].goal[0].in_container", "needs 'container'"),
    ('{ released = "geometry" }', '"released"', "tasks[0].goal[1]", "table"),
    ('"in_box"]', '"in_bix"]', "tasks[0].subtasks[1]", "Did you mean 'in_box'"),
    ('"in_box"]', '"grasped"]', "tasks[0].subtasks", "'grasped' is there twice"),
    ('"in_box"]', '{ name = "up" }]', "tasks[0].subtasks[1].when", "list of conditions"),
    ('"in_box"]', '{ nam = "up" }]', "tasks[0].subtasks[1].nam", "unknown key"),
    ('"in_box"]', "3]", "tasks[0].subtasks[1]", "name of a predicate or a table"),
    ('use = "paint"', 'use = "pant"', "factors.paint.use", "Did you mean 'paint'"),
    ('options = { object = "geometry" }', "options = { objekt = 1 }", "factors.paint.options", "'objekt'"),
    ('options = { object = "geometry" }', 'options = { object = "ball" }', "factors.paint", "no object 'ball'"),
    ('role = "visual"', 'role = "visaul"', "factors.paint.role", "Did you mean 'visual'?"),
    ('baseline = "red"', 'baseline = "rde"', "factors.paint.baseline", "looks like 'red'"),
    ('baseline = "red"', 'baseline = "Red"', "factors.paint.baseline", "lower-case"),
    ("[factors.place]", "[factors.Place]", "factors.Place", "lower-case"),
    ('multiplicity = "paper"', 'multiplicity = "papr"', "contexts.multiplicity", "Did you mean 'paper'?"),
    ('scheme = "structured-union"', 'scheme = "product"', "contexts.multiplicity", "Remove it"),
    ('factors = ["zoom", "paint"]', 'factors = ["zom", "paint"]', "interactions[0].factors[0]", "Did you mean 'zoom'"),
    ('factors = ["zoom", "paint"]', 'factors = ["place", "paint"]', "interactions[0].factors[0]", "no visual factor"),
    ('factors = ["zoom", "paint"]', 'factors = ["paint", "paint"]', "interactions[0].factors", "two different"),
    ('factors = ["zoom", "paint"]', 'factors = ["paint"]', "interactions[0].factors", "at least 2"),
    ('["red", "blue"] }\ncontext', '["red", "bleu"] }\ncontext', "interactions[0].levels.paint[1]", "'blue'"),
    ('["red", "blue"] }\ncontext', '["red", "red"] }\ncontext', "interactions[0].levels.paint", "twice"),
    (
        'levels = { paint = ["red", "blue"] }\ncontext',
        'levels = { pain = ["red"] }\ncontext',
        "interactions[0].levels.pain",
        "'paint'",
    ),
    ('context = "base"', 'context = "bas"', "interactions[0].context", "Did you mean 'base'"),
    ("repeats = 4", "repeats = 0", "interactions[0].repeats", "greater than or equal to 1"),
    ("repeats = 4", "repeats = true", "interactions[0].repeats", "valid integer"),
    ("xy = 0.01", "xy = -1", "protocol.jitter.xy", "greater than or equal to 0"),
    ('seeds = "shared"', 'seeds = "share"', "protocol.seeds", "Did you mean 'shared'?"),
    ("contexts = 2", "contexts = 9", "presets.quick.contexts", "only 5 contexts"),
    ("contexts = 2", 'contexts = ["place-p9"]', "presets.quick.contexts[0]", "Did you mean 'place-p"),
    ("contexts = 2", "contexts = true", "presets.quick.contexts", "valid integer or a valid list"),
    ('viewpoint_cameras = ["front"]', 'viewpoint_cameras = ["fornt"]', "viewpoint_cameras[0]", "'front'"),
    ('metrics = ["bias"]', 'metrics = [""]', "metrics[0]", "at least 1 character"),
    ('metrics = ["bias"]', 'metrics = ["bias", "bias"]', "metrics[1]", "'bias' is there twice"),
    ('render = "fast"', 'redner = "fast"', "redner", "Did you mean 'render'"),
    ('render = "fast"', 'world = "moon"', "world", "'moon' is not one of 'mujoco'"),
    ('render = "fast"', 'requires = ["no-such-distribution == == 1"]', "requires", "cannot be read"),
]


@pytest.mark.parametrize(("fragment", "mistake", "key", "advice"), MISTAKES)
def test_a_mistake_is_named_with_file_line_and_key(
    small: str, suite_file: Callable[[str], Path], catalog: Catalog, fragment: str, mistake: str, key: str, advice: str
) -> None:
    text = small.replace(fragment, mistake, 1)
    path = suite_file(text)
    with pytest.raises(SuiteError) as caught:
        load_suite(catalog, str(path))
    message = str(caught.value)
    assert f"{path}, line " in message
    assert f": {key}: " in message
    assert advice in message
    line = int(message.split(f": {key}: ")[0].rpartition(" ")[2])
    # What is missing is reported at the table that lacks it, so near the place of the change.
    assert -1 <= line_of(small, fragment) - line <= 9


def test_the_line_is_that_of_the_key(small: str, load: Callable[[str], Suite]) -> None:
    text = small.replace('released = "geometry"', 'released = "geometri"')
    with pytest.raises(SuiteError, match=f"line {line_of(text, 'geometri')}: "):
        load(text)


def test_several_mistakes_are_told_at_once(small: str, load: Callable[[str], Suite]) -> None:
    text = small.replace("limit = 10.0", "limit = -1").replace('role = "visual"', 'role = "loud"')
    with pytest.raises(SuiteError) as caught:
        load(text)
    assert len(str(caught.value).splitlines()) == 3


def test_what_is_not_toml_is_named_with_its_line(small: str, load: Callable[[str], Suite]) -> None:
    with pytest.raises(SuiteError, match=r"suite\.toml, line 3, column \d+: this is not TOML"):
        load(small.replace('render = "fast"', "render = fast = 1"))


@pytest.mark.parametrize("depth", [200, 2000])
def test_lists_that_are_nested_too_deep_are_told(small: str, load: Callable[[str], Suite], depth: int) -> None:
    with pytest.raises(SuiteError, match=r"deep inside one another\. Write it flatter"):
        load(f"{small}\n[extra]\nvalue = {'[' * depth}{']' * depth}\n")


def test_a_file_cut_short_is_not_toml(load: Callable[[str], Suite]) -> None:
    with pytest.raises(SuiteError, match="at its end: this is not TOML"):
        load('schema = 1\ngoal = [\n  "a",')


def test_a_table_given_twice_is_refused(small: str, load: Callable[[str], Suite]) -> None:
    with pytest.raises(SuiteError, match="this is not TOML: Cannot declare"):
        load(small + '\n[factors.paint]\nuse = "paint"\n')


def test_a_task_name_given_twice_is_refused(small: str, load: Callable[[str], Suite]) -> None:
    task = small[small.index("[[tasks]]") : small.index("[factors.paint]")]
    with pytest.raises(SuiteError, match="'put-in' is there twice"):
        load(small.replace("[factors.paint]", task + "[factors.paint]"))


def test_a_second_grid_of_the_same_factors_is_refused(small: str, load: Callable[[str], Suite]) -> None:
    with pytest.raises(SuiteError, match="there is a grid of 'paint\\+zoom' already"):
        load(small.replace("[protocol]", '[[interactions]]\nfactors = ["paint", "zoom"]\n\n[protocol]'))


def test_bytes_that_are_no_text_are_refused(catalog: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b"name = '\xff\xfe'")
    with pytest.raises(SuiteError, match="not UTF-8"):
        load_suite(catalog, str(path))


def test_a_file_that_is_not_there_is_wrong_use(catalog: Catalog, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_suite(catalog, str(tmp_path / "missing.toml"))


def test_an_unknown_name_is_wrong_use(catalog: Catalog) -> None:
    with pytest.raises(UsageError, match="'smal'"):
        load_suite(catalog, "smal")


@pytest.mark.parametrize("schema", ["", "schema = 0", 'schema = "1"', "schema = true"])
def test_a_file_needs_the_number_of_its_schema(small: str, load: Callable[[str], Suite], schema: str) -> None:
    with pytest.raises(SuiteError, match="`schema = 1`"):
        load(small.replace("schema = 1", schema, 1))


def test_a_newer_schema_says_what_this_rbench_reads(small: str, load: Callable[[str], Suite]) -> None:
    with pytest.raises(SuiteError, match=r"line 1: schema: .*newer rbench.*reads schema 1"):
        load(small.replace("schema = 1", "schema = 2", 1).replace("limit", "whatever"))


def test_requirements_come_before_every_other_mistake(small: str, load: Callable[[str], Suite]) -> None:
    text = small.replace('render = "fast"', 'requires = ["rbench-factor-nowhere>=3"]').replace("paint", "nopaint")
    with pytest.raises(StartError, match="pip install 'rbench-factor-nowhere>=3'"):
        load(text)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("none", "no levels"),
        ("double", "two of its levels are called 'a'"),
        ("name", "'Not A Name'"),
        ("raises", "levels\\(\\) failed"),
        ("value", "levels\\(\\) failed"),
    ],
)
def test_a_sampler_that_breaks_its_contract_is_named(
    small: str, load: Callable[[str], Suite], fault: str, reason: str
) -> None:
    text = small.replace('use = "zoom"', f'use = "faulty"\noptions = {{ fault = "{fault}" }}')
    with pytest.raises(PluginError, match=f"suite-test-factors/faulty breaks its contract: .*{reason}"):
        load(text)


def test_a_suite_without_a_visual_factor_studies_nothing(small: str, load: Callable[[str], Suite]) -> None:
    text = small[: small.index("[contexts]")].replace('role = "visual"', 'role = "context"')
    with pytest.raises(SuiteError, match="nothing is studied"):
        load(text)


def test_a_task_that_nobody_instructs_is_refused(small: str, load: Callable[[str], Suite]) -> None:
    text = small.replace('use = "words"', 'use = "place"').replace('baseline = "i1"', 'baseline = "p1"')
    with pytest.raises(SuiteError, match=r"tasks\[0\]\.instruction: missing"):
        load(text)


def test_a_subtask_whose_arguments_are_ambiguous_must_be_written_out(small: str, load: Callable[[str], Suite]) -> None:
    text = small.replace('{ at_rest = "geometry" }', '{ at_rest = "marker" }')
    with pytest.raises(SuiteError, match=r"takes its object from the goal, but the goal names several"):
        load(text)


def test_contexts_of_the_same_name_are_refused(small: str, load: Callable[[str], Suite]) -> None:
    factor = (
        '[factors.%s]\nuse = "many"\noptions = { count = 1, prefix = "%s" }\nrole = "context"\nbaseline = "default"\n'
    )
    text = small.replace("[factors.words]", factor % ("x", "y-n") + factor % ("x-y", "n") + "[factors.words]")
    with pytest.raises(SuiteError, match="contexts: 'x-y-n0' is there twice"):
        load(text)


def test_a_preset_that_empties_a_grid_is_refused(small: str, load: Callable[[str], Suite]) -> None:
    text = small.replace("grid = false", "grid = true").replace(
        'levels = { paint = ["red", "blue"] }\nrepeats', 'levels = { paint = ["green"] }\nrepeats'
    )
    with pytest.raises(SuiteError, match="leaves the grid zoom\\+paint without a level"):
        load(text)
