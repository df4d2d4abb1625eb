"""The recipe for openpi: schedule, statistics, names, and a configuration that says what the guide says."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rbench.collecting.collection import Collection
from rbench.collecting.openpi.norm_stats import Episode, norm_stats
from rbench.collecting.openpi.recipe import Recipe, write_recipe
from rbench.collecting.openpi.schedule import CosineSchedule
from rbench.errors import UsageError

Collected = Callable[..., tuple[Path, Collection]]


@pytest.mark.parametrize(
    ("step", "rate"), [(0, 4.995e-8), (500, 2.502e-5), (1000, 5e-5), (5000, 3.967e-5), (9999, 2.5e-5), (20000, 2.5e-5)]
)
def test_the_schedule_is_openpis(step: int, rate: float) -> None:
    assert CosineSchedule().rate(step) == pytest.approx(rate, rel=2e-4)


def test_chunks_repeat_the_last_action_and_are_relative_to_their_state() -> None:
    states = np.array([[1.0, 0.5], [2.0, 0.5]])
    actions = np.array([[3.0, 0.0], [5.0, 1.0]])
    stats = norm_stats([Episode(states, actions)], horizon=3, batch=1, deltas=1)["norm_stats"]
    # Of sample 0: 3-1, 5-1, 5-1; of sample 1: 5-2 three times.
    assert stats["actions"]["mean"][0] == pytest.approx((2 + 4 + 4 + 3 * 3) / 6)
    assert stats["actions"]["mean"][1] == pytest.approx(5 / 6)
    assert stats["state"]["mean"] == [1.5, 0.5]
    assert stats["state"]["std"] == [0.5, 0.0]


def test_a_batch_that_is_not_full_is_left_out() -> None:
    rows = np.arange(5.0).reshape(5, 1)
    stats = norm_stats([Episode(rows, rows)], horizon=1, batch=2, deltas=0)["norm_stats"]
    assert stats["state"]["mean"] == [1.5]


def test_quantiles_are_edges_of_five_thousand_bins() -> None:
    values = np.random.default_rng(3).normal(size=(4000, 1))
    stats = norm_stats([Episode(values, values)], horizon=1, batch=16, deltas=0)["norm_stats"]["state"]
    width = (values.max() - values.min()) / 5000
    for name, share in (("q01", 0.01), ("q99", 0.99)):
        found = stats[name][0]
        assert (values < found).mean() < share <= (values <= found + width * 1.001).mean()


class Recorder(SimpleNamespace):
    """Stands for anything of openpi that is only handed on."""


def stand_in(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Modules with the names that openpi has, which record what they are given."""

    def record(name: str) -> Callable[..., Recorder]:
        return lambda *args, **given: Recorder(called=name, args=args, **given)

    @dataclasses.dataclass(frozen=True)
    class Group:
        inputs: Any = ()
        outputs: Any = ()

        def push(self, *, inputs: Any = (), outputs: Any = ()) -> Group:
            return Group((*self.inputs, *inputs), (*outputs, *self.outputs))

    @dataclasses.dataclass(frozen=True)
    class DataConfig:
        prompt_from_task: bool = False
        repo_id: Any = None
        repack_transforms: Any = None
        data_transforms: Any = None
        model_transforms: Any = None
        action_sequence_keys: Any = ("actions",)

    @dataclasses.dataclass(frozen=True)
    class DataConfigFactory:
        repo_id: str = ""
        assets: Any = None
        base_config: Any = None

        def create_base_config(self, assets_dirs: Any, model_config: Any) -> Any:
            return dataclasses.replace(self.base_config, repo_id=self.repo_id)

    training = ModuleType("openpi.training.config")
    vars(training).update(
        DataConfig=DataConfig,
        DataConfigFactory=DataConfigFactory,
        TrainConfig=record("TrainConfig"),
        AssetsConfig=record("AssetsConfig"),
        ModelTransformFactory=lambda: record("model transforms"),
        _CONFIGS=[],
        _CONFIGS_DICT={},
    )
    contents: dict[str, dict[str, Any]] = {
        "openpi": {},
        "openpi.transforms": {
            "Group": Group,
            "make_bool_mask": lambda *parts: [part > 0 for part in parts for _ in range(abs(part))],
            **{name: record(name) for name in ("RepackTransform", "DeltaActions", "AbsoluteActions")},
        },
        "openpi.models": {},
        "openpi.models.pi0_config": {"Pi0Config": record("Pi0Config")},
        "openpi.policies": {},
        "openpi.policies.droid_policy": {n: record(n) for n in ("DroidInputs", "DroidOutputs")},
        "openpi.training": {"config": training},
        "openpi.training.optimizer": {"CosineDecaySchedule": record("CosineDecaySchedule")},
        "openpi.training.weight_loaders": {"CheckpointWeightLoader": record("CheckpointWeightLoader")},
    }
    modules = {"openpi.training.config": training}
    for name, members in contents.items():
        modules[name] = ModuleType(name)
        vars(modules[name]).update(members, __path__=[])
    for name, module in modules.items():
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(modules[parent], child, module)
        monkeypatch.setitem(sys.modules, name, module)
    return training


def loaded(recipe: Path) -> Any:
    spec = importlib.util.spec_from_file_location("rbench_config", recipe / "rbench_config.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def dataset(collected: Collected) -> Path:
    pytest.importorskip("pyarrow")
    return collected(form="lerobot-v2.1", pictures="png")[0]


@pytest.mark.gl
def test_the_configuration_is_that_of_the_paper(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_recipe(dataset, Recipe("rbench/my-demos"), tmp_path / "recipe")
    training = stand_in(monkeypatch)
    module = loaded(tmp_path / "recipe")
    module.register()
    module.register()
    (config,) = training._CONFIGS
    assert training._CONFIGS_DICT.keys() == {"pi0_droid_my_demos_position"}
    assert (config.num_train_steps, config.batch_size) == (10_000, 16)
    schedule = config.lr_schedule
    assert (schedule.warmup_steps, schedule.peak_lr, schedule.decay_steps, schedule.decay_lr) == (
        1000,
        5e-5,
        10_000,
        2.5e-5,
    )
    assert config.weight_loader.args == ("gs://openpi-assets/checkpoints/pi0_droid/params",)
    assert config.model.action_horizon == 10
    data = config.data.create("assets", SimpleNamespace(model_type="pi0"))
    assert data.prompt_from_task
    assert data.action_sequence_keys == ("actions",)
    assert [step.called for step in data.data_transforms.inputs] == ["DroidInputs", "DeltaActions"]
    assert [step.called for step in data.data_transforms.outputs] == ["AbsoluteActions", "DroidOutputs"]
    assert data.data_transforms.inputs[1].args == ([True] * 7 + [False],)


@pytest.mark.gl
@pytest.mark.parametrize("actions", ["position", "velocity"])
def test_what_its_server_says_suits_the_agent_pi0(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, actions: Any
) -> None:
    policy_server = pytest.importorskip("rbench_agent_pi0.policy_server")
    options = importlib.import_module("rbench_agent_pi0.options").Options()
    write_recipe(dataset, Recipe("rbench/demos", actions), tmp_path / "recipe")
    stand_in(monkeypatch)
    metadata = loaded(tmp_path / "recipe").config().policy_metadata
    assert metadata["action_horizon"] >= options.open_loop
    assert policy_server.agreed_action_space(metadata, options, "the server") == f"joint_{actions}"


@pytest.mark.gl
def test_the_guide_evaluates_with_pictures_as_in_training(dataset: Path, tmp_path: Path) -> None:
    write_recipe(dataset, Recipe("rbench/demos"), tmp_path / "recipe")
    guide = (tmp_path / "recipe/README.md").read_text()
    assert "-o height=32 -o width=48" in guide
    assert "$" not in guide.replace("$HOME", "").replace("$HF_LEROBOT_HOME", "").replace("$OPENPI_DATA_HOME", "")


@pytest.mark.gl
def test_the_configuration_reads_columns_that_are_there(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    features = json.loads((dataset / "meta/info.json").read_text())["features"]
    for actions in ("position", "velocity"):
        write_recipe(dataset, Recipe("rbench/demos", actions), tmp_path / actions)
        stand_in(monkeypatch)
        columns = loaded(tmp_path / actions).COLUMNS
        assert set(columns) == {
            "observation/exterior_image_1_left",
            "observation/wrist_image_left",
            "observation/joint_position",
            "observation/gripper_position",
            "actions",
            "prompt",
        }
        assert set(columns.values()) - {"prompt"} <= features.keys()


@pytest.mark.gl
def test_velocities_have_no_delta_and_may_take_the_checkpoints_statistics(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_recipe(dataset, Recipe("rbench/demos", "velocity", "checkpoint"), tmp_path / "recipe")
    stand_in(monkeypatch)
    config = loaded(tmp_path / "recipe").config()
    data = config.data.create("assets", SimpleNamespace(model_type="pi0"))
    assert [step.called for step in data.data_transforms.inputs] == ["DroidInputs"]
    assert data.action_sequence_keys == ("velocity_actions",)
    assert config.data.assets.asset_id == "droid"
    assert config.data.assets.assets_dir == "gs://openpi-assets/checkpoints/pi0_droid/assets"
    assert not (tmp_path / "recipe/assets").exists()


@pytest.mark.gl
def test_statistics_lie_where_openpi_looks_and_are_of_the_data(
    dataset: Path, collected: Collected, lines_of: Callable[..., Any], tmp_path: Path
) -> None:
    write_recipe(dataset, Recipe("rbench/demos"), tmp_path / "recipe")
    place = tmp_path / "recipe/assets/pi0_droid_demos_position/rbench/demos/norm_stats.json"
    stats = json.loads(place.read_text())["norm_stats"]
    assert stats.keys() == {"state", "actions"}
    raw, _ = collected()
    states, deltas = [], []
    for line in lines_of(raw / "episodes.jsonl"):
        joints = np.load(raw / line["folder"] / "joint_positions.npy")
        actions = np.load(raw / line["folder"] / "actions.npy")
        states += [np.append(j, g) for j, g in zip(joints, np.load(raw / line["folder"] / "gripper.npy"), strict=True)]
        for row in range(len(actions)):
            chunk = actions[np.minimum(np.arange(row, row + 10), len(actions) - 1)].astype(np.float64)
            chunk[:, :7] -= joints[row]
            deltas.append(chunk)
    kept = len(states) // 16 * 16
    rows = np.concatenate(deltas[:kept])
    assert np.allclose(stats["state"]["mean"], np.mean(states[:kept], axis=0, dtype=np.float64))
    assert np.allclose(stats["actions"]["mean"], rows.mean(axis=0))
    assert np.allclose(stats["actions"]["std"], rows.std(axis=0))
    assert {len(values) for found in stats.values() for values in found.values()} == {8}


@pytest.mark.gl
def test_what_openpi_cannot_take_is_refused(collected: Collected, dataset: Path, tmp_path: Path) -> None:
    raw, _ = collected()
    with pytest.raises(UsageError, match=r"openpi reads lerobot-v2\.1 only"):
        write_recipe(raw, Recipe("rbench/demos"), tmp_path / "recipe")
    with pytest.raises(UsageError, match="holds no collection"):
        write_recipe(tmp_path, Recipe("rbench/demos"), tmp_path / "recipe")
    with pytest.raises(UsageError, match="do not fit joint positions"):
        write_recipe(dataset, Recipe("rbench/demos", "position", "checkpoint"), tmp_path / "recipe")
    for repo_id in ("demos", "a/b/c", 'rbench/"x"', "../demos"):
        with pytest.raises(UsageError, match="OWNER/NAME"):
            write_recipe(dataset, Recipe(repo_id), tmp_path / "recipe")
    assert not (tmp_path / "recipe").exists()


@pytest.mark.gl
def test_a_camera_that_pi0_needs_must_be_there(collected: Collected, tmp_path: Path) -> None:
    path, _ = collected(form="lerobot-v2.1", pictures="png", cameras=("wrist",), episodes=1, height=8, width=8)
    with pytest.raises(UsageError, match=r"no column 'exterior_image_1_left'.*wrist and left_top"):
        write_recipe(path, Recipe("rbench/demos"), tmp_path / "recipe")
