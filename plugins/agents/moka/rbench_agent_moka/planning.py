"""The high-level plan: two questions about the picture, one that proposes subtasks and one that merges them."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rbench.interfaces.vision import Question
from rbench.vision.asking import Interview
from rbench.vision.manipulation import ManipulationPlan, PlannedStep
from rbench_agent_moka.questions import usable
from rbench_agent_moka.sight import Image

#: Names and versions of the questions; a changed prompt is a new version, or recorded answers would be stale.
PLAN, FILTER = "moka.plan/1", "moka.filter/1"

_SCHEMA = """Reply with JSON only: a list of objects, one a subtask, in the order in which they are done, with the keys
- "instruction": the subtask in words;
- "object_grasped": name, at most three words, of the object that the hand holds while it does the subtask (picked up,
  switched on or used as a tool); "" if it holds none;
- "object_unattached": name, at most three words, of the object that is acted upon without being held (swept, pressed,
  or the place where the held object is put); "" if there is none;
- "motion_direction": where the gripper moves, such as "left to right", "backward" or "downward"."""

_PLAN = """You plan the motions of a robot arm with one gripper at a table. The image shows the table from its camera.
Divide the task into as few subtasks as it takes, each done with one grasp or one push.
{schema}
Task: {instruction}"""

_FILTER = """You check the plan of a robot arm with one gripper at a table. The image shows the table from its camera.
{schema}
Return the plan corrected by these rules, and otherwise as it is:
1. When a subtask only grasps an object and the next uses the same object as a tool, leave out the first.
2. When a subtask grasps an object and the next puts it down somewhere, make them one ("move X onto Y").
3. object_grasped and object_unattached of one subtask are never the same.
Task: {instruction}
Plan: {plan}"""


def plan(interview: Interview, instruction: str, image: Image, attempts: int) -> tuple[PlannedStep, ...]:
    """The subtasks, proposed and then filtered.

    Raises:
        GaveUp: `plan_parse`, `plan_truncated` or `plan_refused`, by either question.
    """
    prompt = _PLAN.replace("{schema}", _SCHEMA).replace("{instruction}", instruction)
    question = Question(PLAN, prompt, (image,), ManipulationPlan)
    proposed = usable(interview, question, "plan", attempts, _distinct)
    # The instruction goes in last: whatever stands in it is taken for what it is.
    prompt = _FILTER.replace("{schema}", _SCHEMA).replace("{plan}", json.dumps(_plain(proposed)))
    question = Question(FILTER, prompt.replace("{instruction}", instruction), (image,), ManipulationPlan)
    return usable(interview, question, "plan", attempts, _distinct)


def names(steps: Sequence[PlannedStep]) -> tuple[str, ...]:
    """The names in the plan, grasped before unattached, each once."""
    said = (name for step in steps for name in (step.object_grasped, step.object_unattached))
    return tuple(dict.fromkeys(name for name in said if name))


def _distinct(answer: ManipulationPlan) -> tuple[PlannedStep, ...]:
    """The steps with names trimmed; an object cannot be both held and acted upon, so then it is held."""
    steps = []
    for step in answer.root:
        grasped, unattached = " ".join(step.object_grasped.split()), " ".join(step.object_unattached.split())
        unattached = "" if grasped.casefold() == unattached.casefold() else unattached
        steps.append(step.model_copy(update={"object_grasped": grasped, "object_unattached": unattached}))
    return tuple(steps)


def _plain(steps: Sequence[PlannedStep]) -> list[dict[str, str]]:
    return [step.model_dump() for step in steps]
