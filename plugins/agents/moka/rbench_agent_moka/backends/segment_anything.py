"""SAM as its authors' package has it (`segment-anything`), from a file; how large it is is read from the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rbench.errors import StartError
from rbench_agent_moka.backends.torch_library import device_of, lacking, loading, state_of
from rbench_agent_moka.located_weights import weights_file
from rbench_agent_moka.model_output import masks
from rbench_agent_moka.perception import Box, Segmenter, Settings
from rbench_agent_moka.sight import Mask, Sight
from rbench_agent_moka.weights import published

LIBRARIES = ("torch", "torchvision", "segment_anything")
DISTRIBUTIONS = ("torch", "torchvision", "segment-anything")
BEGINNING = "sam_"
#: Mean and deviation of colours (0..255) and heads of the mask decoder, which weights do not tell; as published.
_MEAN, _DEVIATION = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
_HEADS = 8


class SamSegmenter(Segmenter):
    """SAM, prompted with boxes, one mask each."""

    extra = "original"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        path = _file(settings)
        if path is None:
            raise StartError(f"agent 'moka': {self.missing(settings)}")
        state, digest = state_of(path)
        self.weights = {path.name: digest}
        with loading(f"weights {path}", DISTRIBUTIONS):
            from segment_anything import SamPredictor

            self._predictor = SamPredictor(_built(state, path).eval().to(device_of(settings.device)))

    @classmethod
    def missing(cls, settings: Settings) -> str | None:
        absent = cls.without()
        if absent is not None:
            return absent
        if _file(settings) is None:
            released = published()["sam_vit_h_4b8939.pth"]
            return (
                f"there is no {released.name} ({released.bytes:,} bytes, published at {released.address}; vit_l and"
                " vit_b are smaller) in the folder of weights; put it there and give -o weights=DIR"
            )
        return None

    @classmethod
    def without(cls) -> str | None:
        return lacking(LIBRARIES, cls.extra)

    @classmethod
    def files(cls, settings: Settings) -> list[Path]:
        path = _file(settings)
        return [] if path is None else [path]

    def segment(self, sight: Sight, boxes: Sequence[Box]) -> list[Mask]:
        self._predictor.set_image(sight.rgb, "RGB")
        found = []
        for box in boxes:
            mask, _, _ = self._predictor.predict(box=np.array(box), multimask_output=False)
            found += masks(mask, 1, sight.size)
        self._predictor.reset_image()  # nothing of a picture is kept
        return found


def _file(settings: Settings) -> Path | None:
    return weights_file(settings.segmenter_weights or settings.weights, BEGINNING)


def _built(state: Mapping[str, Any], path: Path) -> Any:
    """The model with its weights.

    Raises:
        StartError: the weights are of something else.
    """
    import torch
    from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer

    try:
        encoder = _encoder_sizes(state)
        decoder = {
            "num_multimask_outputs": state["mask_decoder.mask_tokens.weight"].shape[0] - 1,
            "iou_head_hidden_dim": state["mask_decoder.iou_prediction_head.layers.0.weight"].shape[0],
            "iou_head_depth": _count(state, "mask_decoder.iou_prediction_head.layers."),
        }
        depth = _count(state, "mask_decoder.transformer.layers.")
        inner = state["mask_decoder.transformer.layers.0.mlp.lin1.weight"].shape[0]
        channels = state["prompt_encoder.mask_downscaling.3.weight"].shape[0]
    except KeyError as problem:
        raise StartError(f"weights {path}: not those of SAM, which has {problem}; give its file") from None
    width, side = encoder["out_chans"], encoder["img_size"]
    grid = side // encoder["patch_size"]
    sam = Sam(
        image_encoder=ImageEncoderViT(
            qkv_bias=True, use_rel_pos=True, norm_layer=partial(torch.nn.LayerNorm, eps=1e-6), **encoder
        ),
        prompt_encoder=PromptEncoder(width, (grid, grid), (side, side), channels),
        mask_decoder=MaskDecoder(
            transformer_dim=width,
            transformer=TwoWayTransformer(depth=depth, embedding_dim=width, num_heads=_HEADS, mlp_dim=inner),
            **decoder,
        ),
        pixel_mean=list(_MEAN),
        pixel_std=list(_DEVIATION),
    )
    sam.load_state_dict(state)
    return sam


def _encoder_sizes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes of the image encoder. Blocks that see the whole picture have relative positions for all of it."""
    own = "image_encoder."
    _, grid, _, width = state[f"{own}pos_embed"].shape
    patch = state[f"{own}patch_embed.proj.weight"].shape[-1]
    blocks = range(_count(state, f"{own}blocks."))
    reach = [(state[f"{own}blocks.{i}.attn.rel_pos_h"].shape[0] + 1) // 2 for i in blocks]
    return {
        "img_size": grid * patch,
        "patch_size": patch,
        "embed_dim": width,
        "depth": len(blocks),
        "num_heads": width // state[f"{own}blocks.0.attn.rel_pos_h"].shape[1],
        "mlp_ratio": state[f"{own}blocks.0.mlp.lin1.weight"].shape[0] / width,
        "out_chans": state[f"{own}neck.0.weight"].shape[0],
        "window_size": min(reach) if min(reach) < grid else 0,
        "global_attn_indexes": tuple(i for i in blocks if reach[i] == grid),
    }


def _count(state: Mapping[str, Any], beginning: str) -> int:
    return len({name.removeprefix(beginning).partition(".")[0] for name in state if name.startswith(beginning)})
