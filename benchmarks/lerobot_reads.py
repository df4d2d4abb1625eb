"""Read a LeRobot data set of `rbench collect` with the published library, and compare every frame with a raw one.

    python benchmarks/lerobot_reads.py RAW LEROBOT

RAW and LEROBOT are collections with the same options but for the format. Runs in an environment with lerobot (0.3.3 for
v2.1, 0.4 for v3.0) and numpy; rbench is not needed. Films are lossy: their mean error is printed, everything else and
PNG must be equal.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("HF_HUB_OFFLINE", "1")

DROID = {"wrist": "wrist_image_left", "left_top": "exterior_image_1_left", "right_top": "exterior_image_2_left"}
NAMES = {
    "v2.1": {
        "joint_position": ("joint_positions",),
        "gripper_position": ("gripper",),
        "actions": ("actions",),
        "joint_velocity": ("joint_velocities",),
        "end_effector": ("end_effector",),
    },
    "v3.0": {
        "observation.state": ("joint_positions", "gripper"),
        "action": ("actions",),
        "joint_velocity": ("joint_velocities",),
        "end_effector": ("end_effector",),
    },
}


def main(raw: Path, root: Path) -> int:
    lend_video_reader()
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    info = json.loads((root / "meta/info.json").read_text())
    version = info["codebase_version"]
    action = "actions" if version == "v2.1" else "action"
    horizon = {action: [k / info["fps"] for k in range(10)]}
    dataset = LeRobotDataset("rbench/check", root=root, delta_timestamps=horizon, video_backend="pyav")
    lines = [json.loads(line) for line in (raw / "episodes.jsonl").read_text().splitlines()]
    wrong, errors, frames = 0, [], 0
    for line in lines:
        arrays = {path.stem: np.load(path) for path in (raw / line["folder"]).glob("*.npy")}
        for row in range(line["length"]):
            item = dataset[frames]
            frames += 1
            expected = {
                name: np.concatenate([np.atleast_1d(arrays[a][row]) for a in parts])
                for name, parts in NAMES[version].items()
            }
            rows = np.minimum(np.arange(row, row + 10), line["length"] - 1)
            expected[action] = arrays["actions"][rows]
            wrong += sum(not np.array_equal(np.atleast_1d(item[name].numpy()), v) for name, v in expected.items())
            wrong += item["task"] != line["instruction"] or int(item["episode_index"]) != line["index"]
            for name, array in arrays.items():
                if name.startswith("pictures."):
                    errors.append(picture_error(item, name.removeprefix("pictures."), version, array[row]))
    print(f"{root}: {len(dataset)} frames, {dataset.meta.total_episodes} episodes, {wrong} values differ")
    print(f"pictures: mean error {np.mean(errors):.3f} of 255, largest mean of a picture {np.max(errors):.3f}")
    complete = frames == len(dataset) and dataset.meta.total_episodes == len(lines)
    films = info["video_path"] is not None
    return 0 if complete and not wrong and (films or np.max(errors) == 0) else 1


def picture_error(item: dict[str, Any], camera: str, version: str, expected: np.ndarray) -> float:
    key = DROID.get(camera, f"{camera}_image") if version == "v2.1" else f"observation.images.{camera}"
    found = np.rint(item[key].numpy().transpose(1, 2, 0) * 255.0)
    return float(np.abs(found - expected.astype(np.float64)).mean())


def lend_video_reader() -> None:
    """Newer torchvisions have lost the reader that these versions of lerobot use; PyAV stands in for it."""
    import torch

    if "+cpu" in torch.__version__:  # beside a CPU build, torchvision's own operators are missing
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import av
    import torchvision

    class VideoReader:
        def __init__(self, path: str, stream: str) -> None:
            self.container = av.open(path)

        def seek(self, seconds: float, keyframes_only: bool = False) -> VideoReader:
            stream = self.container.streams.video[0]
            self.container.seek(int(seconds / stream.time_base), stream=stream, backward=True)
            return self

        def __iter__(self) -> Any:
            for frame in self.container.decode(video=0):
                picture = torch.from_numpy(frame.to_ndarray(format="rgb24")).permute(2, 0, 1)
                yield {"data": picture, "pts": float(frame.pts * frame.time_base)}

    if not hasattr(torchvision.io, "VideoReader"):
        torchvision.io.VideoReader = VideoReader
        torchvision.set_video_backend = lambda backend: None


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), Path(sys.argv[2])))
