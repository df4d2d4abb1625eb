"""Goals and subtasks of a suite file, checked against the predicates and the scene."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rbench.errors import did_you_mean
from rbench.scene import SceneDescription
from rbench.suites.document import Document
from rbench.suites.key_lines import KeyPath
from rbench.tasks.predicates import PREDICATES
from rbench.tasks.task import Condition, Subtask

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


def read_conditions(document: Document, path: KeyPath, entries: Any, scene: SceneDescription) -> tuple[Condition, ...]:
    """The conditions of a list such as `[{ in_container = { object = "a", container = "b" } }, { released = "a" }]`.

    Raises:
        SuiteError: an unknown predicate, a wrong argument, a body that the scene lacks.
    """
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise document.error(path, 'must be a list of conditions. Write for example [{ released = "geometry" }].')
    return tuple(_condition(document, (*path, i), entry, scene) for i, entry in enumerate(entries))


def read_subtasks(
    document: Document, path: KeyPath, entries: Sequence[Any], goal: Sequence[Condition], scene: SceneDescription
) -> tuple[Subtask, ...]:
    """The subtasks: names of predicates (arguments as in the goal), or tables `{ name = "...", when = [...] }`.

    Raises:
        SuiteError: see `read_conditions`; also a name whose arguments do not follow from the goal.
    """
    subtasks: list[Subtask] = []
    for i, entry in enumerate(entries):
        here = (*path, i)
        if isinstance(entry, str):
            subtask = Subtask(entry, (_from_goal(document, here, entry, goal),))
        else:
            subtask = _subtask(document, here, entry, scene)
        subtasks.append(subtask)
    document.require_different(path, [subtask.name for subtask in subtasks])
    return tuple(subtasks)


def _condition(document: Document, path: KeyPath, entry: Any, scene: SceneDescription) -> Condition:
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise document.error(
            path, 'a condition is a table of one predicate. Write for example { released = "geometry" }.'
        )
    ((name, given),) = entry.items()
    parameters = _parameters(document, (*path, name), name)
    if isinstance(given, str) and len(parameters) == 1:
        given = {parameters[0]: given}
    usage = ", ".join(f'{parameter} = "..."' for parameter in parameters)
    if not isinstance(given, Mapping):
        raise document.error((*path, name), f"{name} takes {' and '.join(parameters)}. Write {name} = {{ {usage} }}.")
    for key in given:
        if key not in parameters:
            raise document.error((*path, name, key), f"{name} has no such argument. Write {name} = {{ {usage} }}.")
    arguments = {}
    for parameter in parameters:
        if parameter not in given:
            raise document.error((*path, name), f"{name} needs {parameter!r}. Write {name} = {{ {usage} }}.")
        value = given[parameter]
        here = (*path, name, parameter) if isinstance(entry[name], Mapping) else (*path, name)
        known = _bodies(scene, parameter)
        if value not in known:
            raise document.error(
                here,
                f"scene {scene.name!r} has no {parameter} {value!r}.{did_you_mean(str(value), known)} "
                "Name one of the scene.",
            )
        arguments[parameter] = value
    return Condition(name, arguments)


def _subtask(document: Document, path: KeyPath, entry: Any, scene: SceneDescription) -> Subtask:
    form = '{ name = "lifted", when = [{ lifted = "geometry" }] }'
    if not isinstance(entry, Mapping):
        raise document.error(path, f"a subtask is the name of a predicate or a table. Write for example {form}.")
    for key in entry:
        if key not in ("name", "when"):
            raise document.error((*path, key), f"unknown key. A subtask has a name and a `when`: write {form}.")
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise document.error((*path, "name"), f"a subtask needs a name of lower-case letters and digits: write {form}.")
    return Subtask(name, read_conditions(document, (*path, "when"), entry.get("when"), scene))


def _from_goal(document: Document, path: KeyPath, name: str, goal: Sequence[Condition]) -> Condition:
    arguments = {}
    for parameter in _parameters(document, path, name):
        found = dict.fromkeys(c.arguments[parameter] for c in goal if parameter in c.arguments)
        if len(found) != 1:
            why = f"the goal names several ({', '.join(found)})" if found else "the goal names none"
            raise document.error(
                path,
                f"subtask {name!r} takes its {parameter} from the goal, but {why}. "
                f'Write it out: {{ name = "...", when = [{{ {name} = {{ {parameter} = "..." }} }}] }}.',
            )
        arguments[parameter] = next(iter(found))
    return Condition(name, arguments)


def _parameters(document: Document, path: KeyPath, name: str) -> tuple[str, ...]:
    predicate = PREDICATES.get(name)
    if predicate is None:
        raise document.error(
            path, f"there is no predicate {name!r}.{did_you_mean(name, PREDICATES)} Name one of these predicates."
        )
    return predicate.parameters


def _bodies(scene: SceneDescription, parameter: str) -> list[str]:
    receptacles = [receptacle.name for receptacle in scene.receptacles]
    return receptacles if parameter == "container" else [item.name for item in scene.objects] + receptacles
