"""A vision model for the command line: `--vision moka_scripted_model:Model` answers MOKA's questions by a script.

It answers from the prompt and the marks: which names the plan has, and whether the marks that the subtask needs are in
the picture.
"""

from __future__ import annotations

import json

import numpy as np

from rbench.interfaces.vision import Question
from rbench.vision.scripted import ScriptedVision


class Model(ScriptedVision):
    """Plans one pick and place, hands a plan back as it is, and chooses mark 1 of whatever is marked."""

    def __init__(self, options: object = None) -> None:
        super().__init__(self.said)

    def said(self, question: Question, rng: np.random.Generator) -> str:
        if question.name.startswith("moka.plan"):
            step = {"instruction": "put it in", "object_grasped": "geometry", "object_unattached": "box"}
            return f"The plan:\n```json\n{json.dumps([step])}\n```"
        if question.name.startswith("moka.filter"):
            return question.prompt.rpartition("Plan: ")[2]
        red, blue = self.marks(question.images[0])
        answer = {
            "grasp_keypoint": "P1" if red else "",
            "function_keypoint": "",
            "target_keypoint": "Q1" if blue else "",
            "target_tile": "b4",
            "pre_contact_tile": "b4",
            "post_contact_tile": "",
            "pre_contact_height": "above",
            "post_contact_height": "above",
            "target_angle": "forward",
        }
        return f"P1 is the middle of it.\n{json.dumps(answer)}"

    @staticmethod
    def marks(image: np.ndarray) -> tuple[bool, bool]:
        """Whether there are red marks, and blue ones: discs of the picture that are much more so than the table."""
        red, green, blue = (image[..., c].astype(int) for c in range(3))
        return bool((red - green > 60).sum() > 30), bool((blue - red > 20).sum() > 30)
