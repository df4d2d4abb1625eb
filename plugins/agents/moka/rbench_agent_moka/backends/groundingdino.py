"""GroundingDINO as its authors' package has it (`groundingdino-py`), from a file and a folder with its text encoder.

How large the model is is read from the weights, so that no file of configuration, which would be a program, has to
come with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pictures

from rbench.errors import StartError
from rbench.geometry import Array
from rbench_agent_moka.backends.torch_library import (
    check_tokenizer,
    device_of,
    lacking,
    loading,
    quiet_transformers,
    state_of,
)
from rbench_agent_moka.located_weights import files_of, model_folder, weights_file
from rbench_agent_moka.model_output import corners, detections
from rbench_agent_moka.perception import Detection, Detector, Settings
from rbench_agent_moka.sight import Image, Sight
from rbench_agent_moka.weights import checked, published

LIBRARIES = ("torch", "torchvision", "transformers", "groundingdino")
DISTRIBUTIONS = ("torch", "torchvision", "transformers", "groundingdino-py")
BEGINNING = "groundingdino"
#: Width of the backbone's first stage, and the published configuration that has it.
_CONFIGURATIONS = {96: "GroundingDINO_SwinT_OGC", 128: "GroundingDINO_SwinB_cfg"}
#: Sides (pixels) that pictures are scaled to, and mean and deviation of colours, as published.
SHORT_SIDE, LONG_SIDE = 800, 1333
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
#: Tensors of the text encoder that are counted anew, not learnt.
_COUNTED = "position_ids"


class GroundingDinoDetector(Detector):
    """GroundingDINO; one prompt a name, as MOKA does."""

    extra = "original"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        path, encoder = _file(settings), _encoder(settings)
        if path is None or encoder is None:
            raise StartError(f"agent 'moka': {self.missing(settings)}")
        state, digest = state_of(path)
        self.weights = {path.name: digest}
        self.weights |= {f"{encoder.name}/{file.name}": checked(file) for file in files_of(encoder)}
        with loading(f"weights {path}", DISTRIBUTIONS):
            quiet_transformers()
            self._device = device_of(settings.device)
            self._model = _built(state, encoder, path, settings.device).eval().to(self._device)

    @classmethod
    def missing(cls, settings: Settings) -> str | None:
        absent = cls.without()
        if absent is not None:
            return absent
        if _file(settings) is None:
            released = published()["groundingdino_swint_ogc.pth"]
            return (
                f"there is no {released.name} ({released.bytes:,} bytes, published at {released.address}) in the folder"
                " of weights; put it there and give -o weights=DIR"
            )
        if _encoder(settings) is None:
            return (
                "there is no folder with its text encoder, a model of type 'bert', in the folder of weights; copy"
                " google-bert/bert-base-uncased from https://huggingface.co (config.json, model.safetensors, vocab.txt,"
                " tokenizer_config.json) there, or give -o text_encoder=DIR"
            )
        return None

    @classmethod
    def without(cls) -> str | None:
        return lacking(LIBRARIES, cls.extra)

    @classmethod
    def files(cls, settings: Settings) -> list[Path]:
        path, encoder = _file(settings), _encoder(settings)
        if path is None:
            return []
        return [path] if encoder is None else [path, *files_of(encoder)]

    def detect(self, sight: Sight, names: Sequence[str], threshold: float) -> list[list[Detection]]:
        picture = scaled(sight.rgb)
        return [self._of_name(picture, sight.size, name, threshold) for name in names]

    def _of_name(self, picture: Array, size: tuple[int, int], name: str, threshold: float) -> list[Detection]:
        import torch

        caption = f"{name.lower().strip(' .')}."
        image = torch.from_numpy(picture).to(self._device)
        with torch.inference_mode():
            outputs = self._model(image[None], captions=[caption])
        words = outputs["pred_logits"][0].sigmoid().cpu().numpy()  # (queries, places for words)
        boxes = outputs["pred_boxes"][0].cpu().numpy().astype(np.float64)
        scores = words.max(axis=1).astype(np.float64)
        near = scores >= threshold
        tokens = self._model.tokenizer(caption)["input_ids"]
        labels = [self._label(word, tokens) for word in words[near]]
        return detections(corners(boxes[near], *size), scores[near], labels, size, threshold)

    def _label(self, words: Array, tokens: Sequence[int]) -> str:
        """The words of the caption that score enough."""
        tokenizer, least = self._model.tokenizer, self.settings.text_threshold
        said = [token for token, score in zip(tokens, words, strict=False) if score > least]
        return str(tokenizer.decode([token for token in said if token not in tokenizer.all_special_ids]))


def scaled(rgb: Image) -> Array:
    """A picture (3, height, width) of float32 as the model takes it: scaled, by mean and deviation of colours."""
    height, width = rgb.shape[:2]
    # As published: the short side is rounded where the long one is the limit, and the long side is cut.
    least, most = min(height, width), max(height, width)
    side = SHORT_SIDE if most / least * SHORT_SIDE <= LONG_SIDE else round(LONG_SIDE * least / most)
    size = (int(side * width / least), int(side * height / least))
    picture = np.asarray(Pictures.fromarray(rgb).resize(size, Pictures.Resampling.BILINEAR), dtype=np.float32) / 255
    return np.ascontiguousarray(((picture - _MEAN) / _DEVIATION).transpose(2, 0, 1).astype(np.float32))


def _file(settings: Settings) -> Path | None:
    return weights_file(settings.detector_weights or settings.weights, BEGINNING)


def _encoder(settings: Settings) -> Path | None:
    return model_folder(settings.text_encoder or settings.weights, "bert")


def _built(state: Mapping[str, Any], encoder: Path, path: Path, device: str) -> Any:
    """The model with its weights.

    Raises:
        StartError: the weights are of something else.
    """
    import groundingdino.config
    from groundingdino.models import build_model
    from groundingdino.util.slconfig import SLConfig

    from rbench_agent_moka.backends.text_encoder import mend_text_encoder

    mend_text_encoder()
    sizes = _sizes(state, path)
    folder = Path(groundingdino.config.__file__ or "").parent
    configuration = SLConfig.fromfile(str(folder / f"{_CONFIGURATIONS[sizes.pop('width')]}.py"))
    for name, value in sizes.items():
        setattr(configuration, name, value)
    configuration.device, configuration.text_encoder_type = device, str(encoder)
    model = build_model(configuration)
    check_tokenizer(model.tokenizer, encoder)
    absent = [name for name in model.load_state_dict(state, strict=False).missing_keys if _COUNTED not in name]
    if absent:
        raise StartError(f"weights {path}: {len(absent)} tensors of GroundingDINO are missing, as {absent[0]}")
    return model


def _sizes(state: Mapping[str, Any], path: Path) -> dict[str, int]:
    """How large the model is that these are the weights of."""
    try:
        width = state["backbone.0.patch_embed.proj.weight"].shape[0]
        sizes = {
            "width": width,
            "num_queries": state["transformer.tgt_embed.weight"].shape[0],
            "dim_feedforward": state["transformer.encoder.layers.0.linear1.weight"].shape[0],
            "enc_layers": _layers(state, "transformer.encoder.layers."),
            "dec_layers": _layers(state, "transformer.decoder.layers."),
        }
    except KeyError as problem:
        raise StartError(f"weights {path}: not those of GroundingDINO, which has {problem}; give its file") from None
    if width not in _CONFIGURATIONS:
        raise StartError(f"weights {path}: a backbone of width {width} is neither Swin-T nor Swin-B; give one of these")
    return sizes


def _layers(state: Mapping[str, Any], beginning: str) -> int:
    return len({name.removeprefix(beginning).partition(".")[0] for name in state if name.startswith(beginning)})
