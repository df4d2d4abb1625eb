"""The suite file, as it is written: every key with its type and default (docs/suites.md explains them)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic_core import PydanticCustomError

from rbench.suites.fairness import FairnessRules

#: The schema number that this rbench reads.
SCHEMA = 1


def _refuse_questions(kind: str) -> str:
    if kind == "question":
        raise PydanticCustomError(
            "question", "tasks of kind 'question' are not run by this rbench yet. Use kind = \"manipulation\"."
        )
    return kind


Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
Count = Annotated[int, Field(ge=1)]


class Table(BaseModel):
    """A table of the file: unknown keys and loosely typed values are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class TaskTable(Table):
    """`[[tasks]]`. Conditions and subtasks are decoded by `conditions.py`, which knows the predicates."""

    name: Name
    kind: Annotated[Literal["manipulation", "question"], AfterValidator(_refuse_questions)] = "manipulation"
    scene: str
    instruction: str = ""
    goal: Annotated[list[dict[str, Any]], Field(min_length=1)]
    hold: Annotated[float, Field(ge=0)] = 0.2
    subtasks: list[Any] = []
    limit: Annotated[float, Field(gt=0)]


class FactorTable(Table):
    """`[factors.NAME]`."""

    use: Annotated[str, StringConstraints(min_length=1)]
    options: dict[str, Any] = {}
    role: Literal["visual", "context"]
    baseline: Name


class ContextsTable(Table):
    """`[contexts]`."""

    scheme: Literal["structured-union", "product"] = "structured-union"
    multiplicity: Literal["paper", "unique"] | None = None


class InteractionTable(Table):
    """`[[interactions]]`."""

    factors: Annotated[list[str], Field(min_length=2, max_length=2)]
    levels: dict[str, Annotated[list[str], Field(min_length=1)]] = {}
    context: str = "base"
    repeats: Count | None = None


class JitterTable(Table):
    """`protocol.jitter`: half widths of uniform distributions, m and degrees."""

    xy: Annotated[float, Field(ge=0)] = 0.010
    yaw: Annotated[float, Field(ge=0, le=180)] = 20.0


class ProtocolTable(Table):
    """`[protocol]`."""

    repeats: Count = 5
    seeds: Literal["shared", "independent"] = "shared"
    jitter: JitterTable = JitterTable()


class PresetTable(Table):
    """`[presets.NAME]`. A number in place of names means: as many, evenly spread."""

    contexts: Count | Annotated[list[str], Field(min_length=1)] | None = None
    levels: dict[str, Count | Annotated[list[str], Field(min_length=1)]] = {}
    repeats: Count | None = None
    grid: bool = True


Share = Annotated[float, Field(ge=0, le=1)]
Difference = Annotated[float, Field(ge=0, le=100)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=80)]


class ValidationTable(Table):
    """`[validation]`: `rbench.suites.fairness.FairnessRules`, which says what each key means."""

    object_visible: Share = FairnessRules.object_visible
    box_visible: Share = FairnessRules.box_visible
    width: Annotated[float, Field(ge=0)] = FairnessRules.width
    cut_off: bool = FairnessRules.cut_off
    contrast: Difference = FairnessRules.contrast
    low_contrast: Difference = FairnessRules.low_contrast
    second_face: Share = FairnessRules.second_face
    shading: Difference = FairnessRules.shading
    lightness: Difference = FairnessRules.lightness
    near: Annotated[float, Field(ge=0)] = FairnessRules.near
    solvable: Share = FairnessRules.solvable
    solvable_repeats: Count = FairnessRules.solvable_repeats
    pass_rate: Share = FairnessRules.pass_rate
    object_words: Words = FairnessRules.object_words
    box_words: Words = FairnessRules.box_words


class SuiteTable(Table):
    """The whole file."""

    schema_number: Annotated[int, Field(alias="schema")]
    name: Name
    requires: list[str] = []
    world: Literal["mujoco"] = "mujoco"
    render: Name = "standard"
    viewpoint_cameras: list[str] = []
    extrinsics: Literal["true", "nominal"] = "true"
    metrics: list[Annotated[str, StringConstraints(min_length=1)]] = []
    tasks: Annotated[list[TaskTable], Field(min_length=1)]
    factors: Annotated[dict[Name, FactorTable], Field(min_length=1)]
    contexts: ContextsTable = ContextsTable()
    interactions: list[InteractionTable] = []
    protocol: ProtocolTable = ProtocolTable()
    presets: dict[Name, PresetTable] = {}
    validation: ValidationTable = ValidationTable()
