"""What the embedded policy sees and reads; none of it needs PyTorch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from rbench.errors import AgentError, StartError
from rbench.interfaces.agent import AgentContext
from rbench_agent_pi0.agent import Pi0
from rbench_agent_pi0.cli import main
from rbench_agent_pi0.embedded.design import UNKNOWN, Design, Eye, vocabulary
from rbench_agent_pi0.embedded.pictures import seen
from rbench_agent_pi0.observations import droid_observation
from rbench_agent_pi0.options import Options

SENTENCES = ["Put the geometry into the box.", "Pick up the object and place it in the box."]


def test_a_word_has_the_same_place_wherever_and_however_it_is_written() -> None:
    design = Design(words=vocabulary(SENTENCES))
    assert design.tokens("THE box, the Box!")[:4] == [*design.tokens("the box")[:2]] * 2


def test_words_that_were_not_in_training_are_one_word_and_the_rest_is_padding() -> None:
    tokens = Design(words=vocabulary(SENTENCES)).tokens("Banish zebras")
    assert tokens == [UNKNOWN, UNKNOWN, *[0] * 14]


def test_an_instruction_that_is_too_long_is_cut() -> None:
    design = Design(words=vocabulary(SENTENCES), longest=4)
    assert design.tokens("put " * 1000) == design.tokens("put put put put")


def test_an_eye_sees_its_crop_and_nothing_else() -> None:
    picture = np.zeros((128, 128, 3), dtype=np.uint8)
    picture[64:, 32:96] = (10, 200, 30)
    eye = Eye("wrist", (0.25, 0.5, 0.75, 1.0), 16)
    assert (seen(picture, eye) == (10, 200, 30)).all()


def test_pictures_are_averaged_down_so_that_no_pixel_is_lost() -> None:
    picture = np.zeros((64, 64, 3), dtype=np.uint8)
    picture[::2, ::2] = 200
    assert np.allclose(seen(picture, Eye("left_top", (0.0, 0.0, 1.0, 1.0), 32)), 50, atol=1)


@pytest.mark.parametrize("shape", [(120, 160, 3), (64, 64), (64, 64, 4)])
def test_a_picture_that_would_be_stretched_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(AgentError, match=r"square pictures.*image_size=0"):
        seen(np.zeros(shape, dtype=np.uint8), Eye("left_top", (0.0, 0.0, 1.0, 1.0), 32))


@pytest.mark.parametrize(("gray", "flat"), [("exterior", "exterior_image_1_left"), ("wrist", "wrist_image_left")])
def test_a_gray_view_is_flat_and_the_other_one_is_not(seen: Callable[..., Any], gray: Any, flat: str) -> None:
    observation = seen(64, 64)
    for view in observation.cameras.values():
        view.watch(lambda draw: lambda channel: np.arange(64 * 64 * 3).reshape(64, 64, 3).astype(np.uint8))
    shown = droid_observation(observation, "Do it.", Options(gray=gray), 0)
    same = {name: bool((shown[f"observation/{name}"] == 128).all()) for name in ("exterior_image_1_left", flat)}
    assert same == {"exterior_image_1_left": gray == "exterior", flat: True}


def test_weights_and_a_server_contradict_each_other() -> None:
    with pytest.raises(ValidationError, match="leave one of them out"):
        Options(weights="hue", host="127.0.0.1")


def test_without_torch_the_agent_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "rbench_agent_pi0.embedded.policy", raising=False)
    with pytest.raises(StartError, match="pip install torch safetensors, or name a policy server"):
        Pi0(Options(), AgentContext())


@pytest.mark.parametrize("words", [["train", "demos", "-o", "out"], ["card", "hue"], ["serve"]])
def test_without_torch_the_command_says_what_to_install_in_one_line(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    assert main(words) == 3
    said = capsys.readouterr().err
    assert "pip install torch safetensors" in said
    assert said.count("\n") == 1
