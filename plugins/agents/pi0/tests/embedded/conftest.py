"""Demonstrations that are made up: a spot in both pictures says where the joints have to go."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SIDE = 32


def demonstration(folder: Path, rng: np.random.Generator, length: int = 24) -> None:
    folder.mkdir(parents=True)
    goal = rng.uniform(-0.5, 0.5)
    joints = np.linspace(0.0, goal, length)[:, None] * np.ones(7)
    pictures = np.full((length, SIDE, SIDE, 3), 60, dtype=np.uint8)
    column = int((goal + 0.5) * (SIDE - 6))
    pictures[:, 18:24, column : column + 6] = (255, 0, 0)
    for camera in ("left_top", "wrist"):
        np.save(folder / f"pictures.{camera}.npy", pictures)
    np.save(folder / "joint_positions.npy", joints.astype(np.float32))
    np.save(folder / "gripper.npy", np.zeros(length, dtype=np.float32))
    actions = np.column_stack([np.full((length, 7), goal), np.arange(length) > length // 2])
    np.save(folder / "actions.npy", actions.astype(np.float32))


@pytest.fixture(scope="session")
def demonstrations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `rbench collect --format raw` writes it."""
    root = tmp_path_factory.mktemp("demonstrations")
    rng = np.random.default_rng(3)
    lines = []
    for number in range(12):
        folder = f"episodes/{number:06d}"
        demonstration(root / folder, rng)
        lines.append(json.dumps({"folder": folder, "instruction": "Put the geometry into the box."}))
    (root / "episodes.jsonl").write_text("\n".join(lines) + "\n")
    head = {"format": "rbench-raw", "schema": 1, "rate": 15, "cameras": ["left_top", "wrist"]}
    head |= {"suite": "made-up", "agent": "nobody", "seed": 3}
    (root / "dataset.json").write_text(json.dumps(head))
    return root


@pytest.fixture
def training(demonstrations: Path) -> Callable[..., Any]:
    """Makes trainings of a tiny policy on them."""
    import torch

    from rbench_agent_pi0.embedded.augmentation import Augmentation
    from rbench_agent_pi0.embedded.demonstrations import read_dataset
    from rbench_agent_pi0.embedded.design import Design, Eye
    from rbench_agent_pi0.embedded.training import Recipe, Training

    torch.set_num_threads(1)
    eyes = tuple(Eye(camera, (0.0, 0.0, 1.0, 1.0), SIDE) for camera in ("left_top", "wrist"))
    data = read_dataset(demonstrations, Design(eyes=eyes, picture=SIDE, width=32, layers=1, chunk=4))

    def make(folder: Path, device: str = "cpu", augmentation: Any = None, **recipe: Any) -> Any:
        given = {"steps": 40, "batch": 16, "rate": 3e-3, "warm_up": 5, "every": 20, **recipe}
        return Training(folder, "tiny", data, Recipe(**given, augmentation=augmentation or Augmentation()), device)

    return make


@pytest.fixture
def asked() -> Callable[..., dict[str, Any]]:
    """Makes observations with DROID's keys."""

    def make(seed: int = 0, side: int = 128, **changes: Any) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        return {
            "observation/exterior_image_1_left": rng.integers(0, 256, (side, side, 3), dtype=np.uint8),
            "observation/wrist_image_left": rng.integers(0, 256, (side, side, 3), dtype=np.uint8),
            "observation/joint_position": np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785], dtype=np.float32),
            "observation/gripper_position": np.zeros(1, dtype=np.float32),
            "prompt": "Put the geometry into the box.",
            **changes,
        }

    return make
