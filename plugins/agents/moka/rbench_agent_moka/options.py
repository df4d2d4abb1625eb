"""Options of the agent `moka`."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from rbench.errors import did_you_mean
from rbench.plugins.options import LocalPath
from rbench_agent_moka.backends import detectors, segmenters

Mode = Literal["fixed", "paper"]


def _known_detector(name: str) -> str:
    return _known(name, ("auto", *detectors()))


def _known_segmenter(name: str) -> str:
    return _known(name, ("auto", *segmenters()))


def _known(name: str, names: tuple[str, ...]) -> str:
    if name not in names:
        raise ValueError(f"there is no {name!r}.{did_you_mean(name, names)}")
    return name


class Options(BaseModel):
    """Options of the agent `moka`.

    Attributes:
        mode: `fixed`: faults of the published program that lose episodes for no reason of principle are mended;
            `paper`: what affects results is kept as published.
        camera: the camera it looks through.
        height, width: of its picture in pixels.
        crop: rows and columns [y0, x0, y1, x1] of the picture that it uses.
        rotate180: it sees the picture upside down, as on the published rig, whose camera faces the robot.
        detector: what finds boxes for names: `auto`, the best whose library and weights are there; `opencv`;
            `ground-truth`, which reads the simulator's state (results carry that mark); or what else is listed.
        segmenter: what finds masks for boxes, likewise.
        weights: folder with the weights of the models; by default that of the environment variable RBENCH_WEIGHTS.
        detector_weights, segmenter_weights: file or folder of one model, wherever it is.
        text_encoder: folder of the text encoder that `groundingdino-py` needs, wherever it is.
        device: where the models run.
        box_threshold: least score of a box.
        retry_threshold: least score of a box when there is none at `box_threshold`; tried once.
        text_threshold: least score of a word that counts as said of a box.
        match: whose a box is: `index`: of the name it was asked for; `phrase`: of the first name that contains the
            words read from it, as published. By default the mode decides.
        near_colors: with how many near colours the detector is asked again for every name with a colour word, to
            measure how far the vision model and the detector differ (metric `deviation`); 0: it is not.
        keypoints: candidates an object, its middle among them.
        tiles: rows and columns of the grid.
        render: how marks are drawn: `pillow`, in the picture's own resolution; `matplotlib369`, as published, which
            shrinks the picture to 369 pixels.
        grasp: how grasps are found: `mask_pca`: across the short side of what is seen of the object;
            `antipodal`: between opposite edges in depth. By default the mode decides.
        attempts: how often a question is asked in all when its answer cannot be used.
        max_subtasks: subtasks that are done; the rest of a longer plan is left.
        subtask_seconds: simulated seconds after which a subtask is given up.
        high_speed, low_speed: of the fingertips, m/s.
        vision: a vision model of its own instead of that of the run.
        vision_options: options of that model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "fixed"
    camera: str = "front"
    height: int = Field(default=448, ge=64, le=2048)
    width: int = Field(default=448, ge=64, le=2048)
    crop: tuple[int, int, int, int] | None = None
    rotate180: bool = False
    detector: Annotated[str, AfterValidator(_known_detector)] = "auto"
    segmenter: Annotated[str, AfterValidator(_known_segmenter)] = "auto"
    weights: Annotated[str | None, LocalPath()] = None
    detector_weights: Annotated[str | None, LocalPath()] = None
    segmenter_weights: Annotated[str | None, LocalPath()] = None
    text_encoder: Annotated[str | None, LocalPath()] = None
    device: str = "cpu"
    box_threshold: float = Field(default=0.3, gt=0.0, lt=1.0)
    retry_threshold: float = Field(default=0.2, gt=0.0, lt=1.0)
    text_threshold: float = Field(default=0.22, gt=0.0, lt=1.0)
    match: Literal["index", "phrase"] | None = None
    near_colors: int = Field(default=0, ge=0, le=20)
    keypoints: int = Field(default=6, ge=1, le=20)
    tiles: tuple[Annotated[int, Field(ge=1, le=20)], Annotated[int, Field(ge=1, le=20)]] = (5, 5)
    render: Literal["pillow", "matplotlib369"] = "pillow"
    grasp: Literal["mask_pca", "antipodal"] | None = None
    attempts: int = Field(default=4, ge=1, le=10)
    max_subtasks: int = Field(default=2, ge=1, le=10)
    subtask_seconds: float = Field(default=10.0, gt=0.0, le=120.0)
    high_speed: float = Field(default=0.75, gt=0.0, le=1.0)
    low_speed: float = Field(default=0.30, gt=0.0, le=1.0)
    vision: str | None = None
    vision_options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.crop is not None:
            y0, x0, y1, x1 = self.crop
            if not (0 <= y0 < y1 <= self.height and 0 <= x0 < x1 <= self.width):
                raise ValueError(
                    f"crop {list(self.crop)} is not inside the picture of {self.height} x {self.width} pixels; give"
                    " [y0, x0, y1, x1] with y0 < y1 <= height and x0 < x1 <= width"
                )
        if self.retry_threshold > self.box_threshold:
            raise ValueError(
                f"retry_threshold {self.retry_threshold:g} is above box_threshold {self.box_threshold:g}; what did not"
                " score enough is tried again with a lower one"
            )
        return self

    @property
    def matching(self) -> Literal["index", "phrase"]:
        """How boxes are given to names."""
        return self.match or ("index" if self.mode == "fixed" else "phrase")

    @property
    def grasping(self) -> Literal["mask_pca", "antipodal"]:
        """How grasps are found."""
        return self.grasp or ("mask_pca" if self.mode == "fixed" else "antipodal")
