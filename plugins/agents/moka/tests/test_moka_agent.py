"""How an episode goes, from the plan to the last phase, and every way in which it can end before."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rbench.action import Stop, Waypoints, checked_action
from rbench.errors import InfrastructureError, StartError
from rbench.geometry import Pose
from rbench.interfaces.agent import AgentContext, EpisodeStart
from rbench.observation import CameraRequest, Observation
from rbench.vision.parsing import ModelText
from rbench_agent_moka.agent import Moka
from rbench_agent_moka.options import Options
from rbench_agent_moka.perception import Detector, Segmenter

Make = Callable[..., Moka]
STEP = {"instruction": "move it", "object_grasped": "geometry", "object_unattached": "box", "motion_direction": ""}


def moved_on(observation: Observation, time: float = 1.0) -> Observation:
    return Observation(
        time=time,
        cameras=dict(observation.cameras),
        joint_positions=np.zeros(7),
        joint_velocities=np.zeros(7),
        gripper=0.0,
        end_effector=Pose((0.5, 0.0, 0.2), (0.0, 1.0, 0.0, 0.0)),
    )


def played(made: Moka, start: EpisodeStart, most: int = 60) -> list[Waypoints | Stop]:
    made.reset(start)
    actions: list[Waypoints | Stop] = []
    for number in range(most):
        actions.append(made.act(moved_on(start.observation, 0.1 * number)))
        if isinstance(actions[-1], Stop):
            return actions
    raise AssertionError("it never stopped")


def stopped(made: Moka, start: EpisodeStart) -> str:
    last = played(made, start)[-1]
    assert isinstance(last, Stop)
    return last.reason


def phases(made: Moka) -> list[str]:
    return [entry["phase"] for entry in made.report()["phases"]]


def test_it_declares_its_camera_and_is_not_privileged(scripted: Callable, agent: Make) -> None:
    manifest = agent(scripted(), camera="left_top").manifest
    assert manifest.cameras == {"left_top": CameraRequest(112, 112, ("rgb", "depth"))}
    assert manifest.primary == "left_top"
    assert not manifest.privileged


@pytest.mark.parametrize("part", ["detector", "segmenter"])
def test_either_part_of_ground_truth_makes_it_privileged(scripted: Callable, agent: Make, part: str) -> None:
    assert agent(scripted(), **{part: "ground-truth"}).manifest.privileged


def test_auto_perception_is_said_in_the_report(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    made = agent(scripted())
    made.reset(start)
    assert made.report()["perception"] == {"detector": "opencv", "segmenter": "opencv"}


def test_perception_is_made_once_a_process(scripted: Callable, agent: Make) -> None:
    a, b = agent(scripted()), agent(scripted())
    assert a._detector is b._detector
    assert a._segmenter is b._segmenter


def test_picking_and_placing_has_the_published_phases(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    made = agent(scripted())
    actions = played(made, start)
    assert phases(made) == [
        "reach_pre_grasp",
        "reach_grasp",
        "grip",
        "lift",
        "reach_pre_target",
        "reach_target",
        "release",
        "release_rise",
    ]
    assert actions[-1] == Stop("done")
    for action in actions:
        checked_action(action, "moka", made.manifest.actions)


def test_it_grasps_the_block_and_lets_go_above_the_box(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    made = agent(scripted())
    played(made, start)
    goals = {entry["phase"]: entry["goal"] for entry in made.report()["phases"]}
    # Seen from straight above, 0.45 m away: a pixel is 0.45 / 120 m.
    assert goals["reach_grasp"][:2] == pytest.approx(
        [0.5 + (79.5 - 55.5) * 0.45 / 120, (69.5 - 55.5) * 0.45 / 120], abs=0.004
    )
    assert goals["release"][:2] == pytest.approx(
        [0.5 + (39.5 - 55.5) * 0.45 / 120, (39.5 - 55.5) * 0.45 / 120], abs=0.004
    )
    assert goals["reach_grasp"][2] < 0.05 < goals["release"][2]


def test_three_questions_are_asked_with_marks_on_the_last_picture(
    scripted: Callable, agent: Make, start: EpisodeStart
) -> None:
    vision = scripted()
    played(agent(vision), start)
    plan, filtered, motion = vision.questions
    assert [q.name for q in vision.questions] == ["moka.plan/1", "moka.filter/1", "moka.motion/1"]
    assert "Put the geometry into the box." in plan.prompt
    assert "Put the geometry into the box." in filtered.prompt
    assert json.dumps([{**STEP, "instruction": "put the geometry into the box", "motion_direction": "downward"}]) in (
        filtered.prompt
    )
    assert (plan.images[0] == start.observation.cameras["front"].rgb).all()
    assert (motion.images[0] != plan.images[0]).any()


def test_two_subtasks_are_done_one_after_the_other_with_a_look_from_home_between(
    scripted: Callable, agent: Make, start: EpisodeStart
) -> None:
    made = agent(scripted(STEP, STEP, STEP))
    assert stopped(made, start) == "done"
    names = phases(made)
    assert names.count("grip") == 2  # max_subtasks
    assert names[names.index("neutral") + 1] == "lift_open"
    assert len(made.report()["subtasks"]) == 2


def test_pushing_with_an_empty_hand_goes_through_the_waypoints(
    scripted: Callable, agent: Make, start: EpisodeStart
) -> None:
    step = {**STEP, "object_grasped": "", "object_unattached": "block"}
    made = agent(
        scripted(step, grasp_keypoint="", pre_contact_tile="c2", pre_contact_height="same", post_contact_tile="e5")
    )
    assert stopped(made, start) == "done"
    assert phases(made) == [
        "lift_open",
        "grip",
        "reach_pre_motion",
        "reach_pre_contact",
        "reach_target",
        "reach_post_contact",
        "release",
        "release_rise",
    ]


@pytest.mark.parametrize(
    ("name", "reason"), [("moka.plan", "plan_parse"), ("moka.filter", "plan_parse"), ("moka.motion", "motion_parse")]
)
@pytest.mark.parametrize("said", ["I will move it.", "{}", "[]", '[{"instruction": "x"}]', "[1, 2]"])
def test_an_unusable_answer_is_asked_for_again_and_then_given_up(
    scripted: Callable, agent: Make, start: EpisodeStart, name: str, reason: str, said: str
) -> None:
    vision = scripted(says={name: [said] * 4})
    assert stopped(agent(vision), start) == reason
    assert sum(q.name.startswith(name) for q in vision.questions) == 4


@pytest.mark.parametrize("name", ["moka.plan", "moka.motion"])
def test_an_answer_that_can_be_used_in_the_end_is_used(
    scripted: Callable, agent: Make, start: EpisodeStart, name: str
) -> None:
    assert stopped(agent(scripted(says={name: ["no"] * 3})), start) == "done"


@pytest.mark.parametrize(("name", "stage"), [("moka.plan", "plan"), ("moka.motion", "motion")])
@pytest.mark.parametrize(
    ("said", "kind"),
    [(ModelText("[]", finish_reason="length"), "truncated"), ("I'm sorry, I can't help with that.", "refused")],
)
def test_what_asking_again_cannot_mend_is_not_asked_again(
    scripted: Callable, agent: Make, start: EpisodeStart, name: str, stage: str, said: str | ModelText, kind: str
) -> None:
    vision = scripted(says={name: [said] * 4})
    assert stopped(agent(vision), start) == f"{stage}_{kind}"
    assert sum(q.name.startswith(name) for q in vision.questions) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"grasp_keypoint": "P9"},
        {"grasp_keypoint": "Q1"},
        {"grasp_keypoint": ""},
        {"target_keypoint": "P1"},
        {"target_keypoint": ""},
        {"function_keypoint": "P7"},
        {"pre_contact_tile": "f1"},
        {"post_contact_tile": "a6"},
        {"pre_contact_height": "below"},
        {"grasp_keypoint": "left corner"},
    ],
)
def test_marks_tiles_and_heights_that_do_not_exist_are_unusable(
    scripted: Callable, agent: Make, start: EpisodeStart, changes: dict
) -> None:
    assert stopped(agent(scripted(**changes)), start) == "motion_parse"


@pytest.mark.parametrize(
    "changes",
    [
        {"grasp_keypoint": "p1", "target_keypoint": " q2 "},
        {"pre_contact_tile": "B4", "post_contact_tile": None},
        {"function_keypoint": None, "target_angle": None},
        {"pre_contact_height": "Same", "post_contact_height": ""},
    ],
)
def test_case_and_nulls_are_no_reason_to_ask_again(
    scripted: Callable, agent: Make, start: EpisodeStart, changes: dict
) -> None:
    vision = scripted(**changes)
    assert stopped(agent(vision), start) == "done"
    assert len(vision.questions) == 3


def test_an_object_cannot_be_both_held_and_acted_upon(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    made = agent(scripted({**STEP, "object_unattached": "Geometry"}))
    assert stopped(made, start) == "done"
    assert made.report()["plan"][0]["object_unattached"] == ""


def test_a_name_that_nothing_is_found_for_ends_the_episode_with_the_name(
    scripted: Callable, agent: Make, start: EpisodeStart, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = agent(scripted({**STEP, "object_grasped": "red " * 20}))
    monkeypatch.setattr(type(made._detector), "detect", lambda self, sight, names, threshold: [[] for _ in names])
    reason = stopped(made, start)
    assert reason.startswith("no_detection:red red")
    assert len(reason) < 60
    assert made.report()["stages"][-1] == {"stage": "detect", "time": 0.0, "failed": reason}


def test_an_empty_mask_is_replaced_by_the_box_and_noted(
    scripted: Callable, agent: Make, start: EpisodeStart, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = agent(scripted())
    nothing = np.zeros((112, 112), dtype=np.bool_)
    monkeypatch.setattr(type(made._segmenter), "segment", lambda self, sight, boxes: [nothing for _ in boxes])
    assert stopped(made, start) == "done"
    assert set(made.report()["subtasks"][0]["notes"]) >= {"no_mask:geometry", "no_mask:box"}


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_a_picture_without_depth_is_said_to_have_none(
    scripted: Callable, agent: Make, start: EpisodeStart, value: float
) -> None:
    view = start.observation.cameras["front"]
    rgb = view.rgb
    view._images["depth"] = np.full((112, 112), value, dtype=np.float32)
    assert rgb is view.rgb
    assert stopped(agent(scripted()), start) == "no_depth"


def test_a_subtask_that_takes_too_long_is_given_up(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    made = agent(scripted(), subtask_seconds=0.15)
    assert stopped(made, start) == "timeout"


def test_a_model_that_is_away_is_not_its_failure(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    vision = scripted()

    def away(*_: object) -> str:
        raise InfrastructureError("connection refused; is the server running?")

    vision.script = away
    made = agent(vision)
    made.reset(start)
    with pytest.raises(InfrastructureError):
        made.act(start.observation)


def test_nothing_of_an_episode_reaches_the_next(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    made = agent(scripted(STEP, STEP))
    first = played(made, start)
    before = made.report()
    again = played(made, replace(start, rng=np.random.default_rng(0)))
    assert made.report() == before
    assert again == first
    made.reset(start)
    assert made.report()["stages"] == []
    assert made.report()["plan"] is None


def test_the_plan_is_made_anew_in_every_episode(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    vision = scripted()
    made = agent(vision)
    played(made, start)
    played(made, replace(start, instruction="Something else."))
    assert sum(q.name == "moka.plan/1" for q in vision.questions) == 2


def test_waypoints_come_from_the_generator_of_the_episode(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    def goal(seed: int) -> list[float]:
        step = {**STEP, "object_grasped": ""}
        made = agent(scripted(step, grasp_keypoint="", pre_contact_tile="e1", pre_contact_height="same"))
        played(made, replace(start, rng=np.random.default_rng(seed)))
        return next(entry["goal"] for entry in made.report()["phases"] if entry["phase"] == "reach_pre_contact")

    assert goal(1) == goal(1)
    assert goal(1) != goal(2)


def test_the_report_is_plain_and_names_the_stages(scripted: Callable, agent: Make, start: EpisodeStart) -> None:
    made = agent(scripted())
    played(made, start)
    report = json.loads(json.dumps(made.report(), allow_nan=False))
    names = list(dict.fromkeys(stage["stage"] for stage in report["stages"]))
    assert names == ["plan", "detect", "segment", "lift", "grasp"]
    assert {stage["role"] for stage in report["stages"]} == {"object", "destination"}


def test_a_cropped_and_turned_picture_means_the_same_places(
    scripted: Callable, agent: Make, start: EpisodeStart
) -> None:
    def goals(**options: object) -> list[list[float]]:
        made = agent(scripted(), **options)
        played(made, start)
        return [entry["goal"] for entry in made.report()["phases"]]

    assert np.allclose(goals(), goals(crop=[4, 8, 108, 106], rotate180=True), atol=0.004)


@pytest.mark.parametrize("options", [{"mode": "paper"}, {"render": "matplotlib369"}, {"grasp": "antipodal"}])
def test_every_way_goes_to_its_end(scripted: Callable, agent: Make, start: EpisodeStart, options: dict) -> None:
    if "render" in options:
        pytest.importorskip("matplotlib")
    vision = scripted()
    assert stopped(agent(vision, **options), start) == "done"
    assert vision.questions[-1].images[0].shape[0] == (369 if "render" in options else 112)


@pytest.mark.parametrize("crop", [[10, 0, 10, 50], [0, 0, 113, 50], [-1, 0, 50, 50]])
def test_a_crop_outside_the_picture_is_refused(crop: list[int]) -> None:
    with pytest.raises(ValueError, match="not inside the picture"):
        Options(height=112, width=112, crop=crop)


def test_a_second_try_with_a_higher_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="retry_threshold"):
        Options(box_threshold=0.1)


def test_without_a_vision_model_it_says_how_to_choose_one() -> None:
    with pytest.raises(StartError, match="--vision"):
        Moka(Options(), AgentContext())


@pytest.mark.parametrize("part", ["detector", "segmenter"])
def test_a_backend_that_is_not_there_is_named_with_those_that_are(part: str) -> None:
    with pytest.raises(ValueError, match="ground-truth"):
        Options(**{part: "ground-truht"})


def test_the_ports_are_abstract() -> None:
    for port in (Detector, Segmenter):
        with pytest.raises(TypeError):
            port(None)  # type: ignore[abstract]
