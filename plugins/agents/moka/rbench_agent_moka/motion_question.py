"""The motion question: which marked points to grasp, to touch with and to reach, and through which tiles."""

from __future__ import annotations

import json
from dataclasses import dataclass

from rbench.interfaces.vision import Question
from rbench.vision.asking import Interview
from rbench.vision.manipulation import MarkedMotion, PlannedStep
from rbench_agent_moka.keypoints import Outline
from rbench_agent_moka.questions import Unusable, usable
from rbench_agent_moka.sight import Image
from rbench_agent_moka.tiles import Tiles

#: Name and version of the question; a changed prompt is a new version, or recorded answers would be stale.
MOTION = "moka.motion/1"

_PROMPT = """A robot arm with one gripper that points straight down does one subtask at a table. The image shows the
table from its camera, with marks:
- red dots P1, P2, ... are points on the object that is grasped (object_grasped); P1 is its middle;
- blue dots Q1, Q2, ... are points on the object that is acted upon (object_unattached); Q1 is its middle;
- the grid divides the image into tiles: columns a to {column} from left to right, rows 1 to {row} from bottom to top,
  so a1 is the lower left tile.
The subtask is given as: instruction, object_grasped (what the hand holds meanwhile, or ""), object_unattached (what is
acted upon, or the place where the held object is put, or ""), motion_direction.
The motion has two phases. First, if something is grasped, the gripper closes on the grasp point. Then the function
point, the part that will touch object_unattached, moves to a waypoint before contact, to the target point, and to a
waypoint after contact.
Choose, reasoning step by step about each before you answer:
- "grasp_keypoint": P mark where the gripper closes; "" exactly if object_grasped is "".
- "function_keypoint": P mark of the part that makes contact; "" if either object is "", and always "" when the subtask
  is to pick something up and put it down somewhere.
- "target_keypoint": Q mark that the function point reaches, or where the held object is put; "" exactly if
  object_unattached is "".
- "target_tile": the tile in which the target point lies now.
- "pre_contact_tile", "post_contact_tile": tiles of free space before and after contact; the latter may be "" when
  nothing is touched.
- "pre_contact_height", "post_contact_height": "same" (as high as the contact) or "above".
- "target_angle": direction of the line from grasp point to function point at contact: "forward", "backward", "upward",
  "downward", "left" or "right". Think first whether it is parallel or at right angles to the motion and to the table.
End with one JSON object with these nine keys and nothing after it.
Subtask: {subtask}"""


@dataclass(frozen=True)
class Chosen:
    """An answer resolved: indices of the candidates, None where the motion does without."""

    answer: MarkedMotion
    grasp: int | None
    function: int | None
    target: int | None


def choose_motion(
    interview: Interview,
    step: PlannedStep,
    image: Image,
    grasped: Outline | None,
    unattached: Outline | None,
    tiles: Tiles,
    attempts: int,
) -> Chosen:
    """Ask for the motion of one subtask.

    Args:
        image: the picture with marks.
        grasped, unattached: the objects whose candidates are marked P and Q.

    Raises:
        GaveUp: `motion_parse`, `motion_truncated` or `motion_refused`.
    """
    prompt = _PROMPT.replace("{column}", chr(ord("a") + tiles.columns - 1)).replace("{row}", str(tiles.rows))
    prompt = prompt.replace("{subtask}", json.dumps(step.model_dump()))
    question = Question(MOTION, prompt, (image,), MarkedMotion)
    return usable(interview, question, "motion", attempts, lambda answer: resolve(answer, grasped, unattached, tiles))


def resolve(answer: MarkedMotion, grasped: Outline | None, unattached: Outline | None, tiles: Tiles) -> Chosen:
    """The candidates that an answer means.

    Raises:
        Unusable: a mark that is not in the picture, one that is missing, or a tile that is not there.
    """
    for tile in (answer.pre_contact_tile, answer.post_contact_tile):
        if tile:
            tiles.check(tile)
    return Chosen(
        answer,
        grasp=_index(answer.grasp_keypoint, "P", grasped, needed=True),
        function=_index(answer.function_keypoint, "P", grasped if unattached else None, needed=False),
        target=_index(answer.target_keypoint, "Q", unattached, needed=True),
    )


def _index(mark: str, letter: str, thing: Outline | None, *, needed: bool) -> int | None:
    if thing is None:
        return None  # whatever the answer says, there is nothing to mark
    if not mark:
        if needed:
            raise Unusable(f"no {letter} mark is chosen, and there is an object to choose it on")
        return None
    number = int(mark[1:])
    if mark[0] != letter or number > len(thing.keypoints):
        raise Unusable(f"there is no mark {mark} on {thing.name!r}")
    return number - 1
