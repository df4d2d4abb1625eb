"""When a picture counts as fair: the rules by which `rbench validate` judges, as a suite states them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FairnessRules:
    """Thresholds of the measured gate.

    They decide which instances are called fair and nothing that an agent sees: a suite's hash does not cover them.

    Contrasts are CIEDE2000 differences: about 1 is the least that people notice side by side, 100 is black to white.

    Attributes:
        object_visible: least share of what would be seen of the object if nothing stood before it; where it is less,
            a miss may be occlusion.
        box_visible: the same of the box, which is found by less of it, being larger.
        width: least pixels along the narrower side of what is seen of the object; below, it is too few for its shape.
        cut_off: whether an object or box may touch the edge of the picture.
        contrast: least difference between the object and what surrounds it in the picture.
        low_contrast: below this, `low contrast` is reported, and `like the box` of the object and the box. It is what a
            study of colour is about, so it is no fault.
        second_face: least share of the object that faces another way than its largest face, or curves away; below, a
            solid looks like a flat patch.
        shading: least difference between these two parts of it.
        lightness: least spread of lightness (L*, 0 to 100) over the picture; below, nothing at all is to be seen.
        near: distance (m) within which what fills more than half of the picture blocks the camera.
        solvable: least share of the expert's episodes that succeed in each physical context.
        solvable_repeats: how many of them.
        pass_rate: least share of instances that pass, at every stage (RoboView-Bias, section 4: 95 %).
        object_words, box_words: what they are called when a vision model is asked.
    """

    object_visible: float = 0.8
    box_visible: float = 0.6
    width: float = 10.0
    cut_off: bool = False
    contrast: float = 3.0
    low_contrast: float = 15.0
    second_face: float = 0.1
    shading: float = 1.0
    lightness: float = 5.0
    near: float = 0.15
    solvable: float = 0.9
    solvable_repeats: int = 25
    pass_rate: float = 0.95
    object_words: str = "small solid geometry object"
    box_words: str = "yellow box"
