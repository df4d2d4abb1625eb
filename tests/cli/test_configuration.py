"""`rbench run --config`: the command line beats the file, and the file beats the defaults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.cli.configuration import RunWishes, read_config, wishes
from rbench.errors import StartError, UsageError
from rbench.running.description import Part, RunDescription
from rbench.running.plan import Selection
from rbench.running.run import prepare

NOTHING: dict[str, Any] = {
    "agent": None, "options": (), "wrappers": (), "wrapper_options": (), "vision": None, "vision_options": (),
}  # fmt: skip

FULL = """
suite = "roboview-bias"
agent = "expert"
option = { speed = 0.2, mode = "slow" }
wrap = ["polite", "sgl"]
wrapper-option.sgl = { model = "m" }
vision = "opencv"
vision-option = { threshold = 0.5 }
dimension = ["color", "camera-pose"]
instances = "color/*"
limit = 24
repeats = 2
preset = "quick"
seed = 3
executor = "serial"
workers = 2
out = "my-run"
"""


@pytest.fixture
def config(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "run.toml"
        path.write_text(text)
        return path

    return write


def test_every_option_has_its_word(config: Callable[[str], Path]) -> None:
    wanted = read_config(config(FULL))
    assert wanted == RunWishes(
        suite="roboview-bias",
        agent=Part("expert", {"speed": 0.2, "mode": "slow"}),
        wrap=(Part("polite"), Part("sgl", {"model": "m"})),
        vision=Part("opencv", {"threshold": 0.5}),
        dimension=("color", "camera-pose"),
        instances=("color/*",),
        limit=24,
        repeats=2,
        preset="quick",
        seed=3,
        executor="serial",
        workers=2,
        out="my-run",
    )
    assert wanted.description().selection == Selection(
        dimensions=("color", "camera-pose"), instances=("color/*",), limit=24, repeats=2, preset="quick"
    )


def test_the_order_of_keys_means_nothing(config: Callable[[str], Path]) -> None:
    lines = [line for line in FULL.splitlines() if line]
    first = read_config(config("\n".join(lines)))
    assert read_config(config("\n".join(reversed(lines)))) == first


def test_the_command_line_wins(config: Callable[[str], Path]) -> None:
    said = {**NOTHING, "options": ("speed=0.9",), "wrapper_options": ("sgl.model=n",)}
    wanted = wishes(config(FULL), **said, suite=None, limit=5, seed=0, dimension=())
    assert wanted.agent == Part("expert", {"speed": 0.9, "mode": "slow"})
    assert wanted.wrap[1] == Part("sgl", {"model": "n"})
    assert (wanted.limit, wanted.seed) == (5, 0)
    assert wanted.dimension == ("color", "camera-pose")


def test_options_of_another_agent_do_not_pass_over(config: Callable[[str], Path]) -> None:
    wanted = wishes(config(FULL), **{**NOTHING, "agent": "idle", "wrappers": ("sgl",), "vision": "replay"})
    assert wanted.agent == Part("idle")
    assert wanted.wrap == (Part("sgl", {"model": "m"}),)
    assert wanted.vision == Part("replay")


def test_nothing_said_is_the_default() -> None:
    wanted = wishes(None, **{**NOTHING, "agent": "idle"}, suite="roboview-bias", limit=None, workers=None)
    assert wanted.description() == RunDescription("roboview-bias", Part("idle"))
    assert wanted.execution().workers is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agnet = 'expert'", "'agnet'. Did you mean 'agent'?"),
        ("limit = 'many'", "limit"),
        ("limit = true", "limit"),
        ("wrapper-option.sgl = { a = 1 }", "'sgl'"),
        ("option = { a = 1 }", "agent"),
        ("agent = ", "TOML"),
    ],
)
def test_what_a_file_cannot_mean_is_refused(config: Callable[[str], Path], text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_config(config(text))
    assert said in str(caught.value)
    assert "run.toml" in str(caught.value)


@pytest.mark.parametrize(("said", "word"), [({}, "suite"), ({"suite": "roboview-bias"}, "--agent")])
def test_what_is_missing_is_asked_for(said: dict[str, Any], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        wishes(None, **NOTHING, **said).description()


def test_an_option_for_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="--agent"):
        wishes(None, **{**NOTHING, "options": ("a=1",)}, suite="roboview-bias")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"absent\.toml"):
        read_config(tmp_path / "absent.toml")


@pytest.fixture
def manifest(catalog: Any, tmp_path: Path) -> Callable[[RunDescription], Path]:
    def write(description: RunDescription) -> Path:
        path = tmp_path / "manifest.json"
        path.write_text(json.dumps(prepare(catalog, description).manifest.to_plain()))
        return path

    return write


def test_a_manifest_asks_for_the_same_run(manifest: Callable[..., Path]) -> None:
    description = RunDescription(
        "rbench/roboview-bias", Part("idle"), selection=Selection(dimensions=("color",), limit=7), seed=5
    )
    wanted = read_config(manifest(description))
    assert wanted.description() == description
    assert (wanted.executor, wanted.workers, wanted.out) == (None, None, None)


def test_a_manifest_whose_secret_is_not_saved_is_refused(manifest: Callable[..., Path]) -> None:
    path = manifest(RunDescription("roboview-bias", Part("idle"), selection=Selection(limit=1)))
    data = json.loads(path.read_text())
    data["agent"]["options"]["given"] = {"api_key": "[redacted]"}
    path.write_text(json.dumps(data))
    with pytest.raises(StartError, match=r"idle\.api_key was a secret"):
        read_config(path)


def test_vision_options_without_a_name_are_those_of_the_default_model(config: Callable[[str], Path]) -> None:
    wanted = wishes(None, **{**NOTHING, "agent": "simple", "vision_options": ("contrast=9",)})
    assert wanted.vision == Part("opencv", {"contrast": 9})
    assert wishes(config("vision-option = { contrast = 9 }"), **NOTHING).vision == wanted.vision
    assert wishes(None, **{**NOTHING, "agent": "simple"}).vision is None
