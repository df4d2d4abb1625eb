"""Tiny models with random weights, saved as released ones are, for both families of libraries."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from rbench.geometry import Pose
from rbench.interfaces.agent import EpisodeStart
from rbench_agent_moka.options import Options
from rbench_agent_moka.sight import Sight

WORDS = ["red", "crimson", "blue", "yellow", "gray", "cube", "box", "geometry", "object", "small", "open"]


@pytest.fixture
def sight(start: EpisodeStart) -> Sight:
    return Sight.of(start.observation, Pose(), Options(height=112, width=112), privileged=False)


@pytest.fixture(scope="session")
def torch() -> Iterator[Any]:
    """torch, with torchvision beside it where that is installed."""
    if find_spec("torch") is None:
        pytest.skip("torch is not installed")
    import torch

    # A CPU build of torch beside a torchvision that was built for another: two operators are missing, which the models
    # do not use, and without which it cannot be imported.
    if find_spec("torchvision") is not None:
        try:
            import torchvision
        except RuntimeError:
            for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
                del sys.modules[name]
            for operator in ("nms", "qnms"):
                with contextlib.suppress(RuntimeError):
                    torch.library.define(
                        f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
                    )
            import torchvision  # noqa: F401
    yield torch


@pytest.fixture(scope="session")
def transformers(torch: Any) -> Any:
    return pytest.importorskip("transformers", reason="transformers is not installed")


@pytest.fixture(scope="session")
def bert_folder(transformers: Any, torch: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text encoder of a thousand words, with [CLS], [SEP], full stop and question mark where BERT has them."""
    folder = tmp_path_factory.mktemp("bert") / "bert-base-uncased"
    folder.mkdir()
    vocabulary = [f"[unused{i}]" for i in range(1040)]
    special = {0: "[PAD]", 100: "[UNK]", 101: "[CLS]", 102: "[SEP]", 103: "[MASK]", 1012: ".", 1029: "?"}
    for place, token in special.items():
        vocabulary[place] = token
    (folder / "vocab.txt").write_text("\n".join(vocabulary + WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512})
    )
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary + WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def transformers_weights(
    transformers: Any, torch: Any, bert_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with GroundingDINO and SAM as the library saves them."""
    folder = tmp_path_factory.mktemp("weights")
    torch.manual_seed(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(bert_folder, local_files_only=True)
    swin = transformers.SwinConfig(
        embed_dim=16,
        depths=[1, 1, 1, 1],
        num_heads=[1, 2, 4, 8],
        window_size=7,
        out_features=["stage2", "stage3", "stage4"],
    )
    detector = transformers.GroundingDinoConfig(
        backbone_config=swin,
        text_config=transformers.BertConfig.from_pretrained(bert_folder),
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_queries=10,
        disable_custom_kernels=True,
    )
    transformers.GroundingDinoForObjectDetection(detector).save_pretrained(folder / "grounding-dino-tiny")
    images = transformers.GroundingDinoImageProcessor(size={"shortest_edge": 224, "longest_edge": 320})
    transformers.GroundingDinoProcessor(images, tokenizer).save_pretrained(folder / "grounding-dino-tiny")
    sam = transformers.SamConfig(
        vision_config={
            "hidden_size": 32,
            "output_channels": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 128,
            "patch_size": 16,
            "window_size": 4,
            "global_attn_indexes": [1],
            "num_pos_feats": 16,
            "mlp_dim": 64,
        },
        prompt_encoder_config={"hidden_size": 32, "image_size": 128, "patch_size": 16, "image_embedding_size": 8},
        mask_decoder_config={"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "mlp_dim": 64},
    )
    transformers.SamModel(sam).save_pretrained(folder / "sam-vit-base")
    side = {"longest_edge": 128}
    images = transformers.SamImageProcessor(size=side, pad_size={"height": 128, "width": 128})
    transformers.SamProcessor(images).save_pretrained(folder / "sam-vit-base")
    return folder


@pytest.fixture(scope="session")
def original_weights(torch: Any, bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the authors' packages load."""
    pytest.importorskip("groundingdino", reason="groundingdino-py is not installed")
    pytest.importorskip("segment_anything", reason="segment-anything is not installed")
    folder = tmp_path_factory.mktemp("original")
    (folder / bert_folder.name).symlink_to(bert_folder)
    torch.manual_seed(2)
    torch.save({"model": _grounding_dino(bert_folder).state_dict()}, folder / "groundingdino_tiny.pth")
    torch.save(_sam(torch).state_dict(), folder / "sam_tiny.pth")
    return folder


def _grounding_dino(bert_folder: Path) -> Any:
    import groundingdino.config
    from groundingdino.models import build_model
    from groundingdino.util.slconfig import SLConfig

    from rbench_agent_moka.backends.text_encoder import mend_text_encoder

    mend_text_encoder()
    folder = Path(groundingdino.config.__file__ or "").parent
    config = SLConfig.fromfile(str(folder / "GroundingDINO_SwinT_OGC.py"))
    config.device, config.text_encoder_type = "cpu", str(bert_folder)
    config.enc_layers = config.dec_layers = 1
    config.num_queries, config.dim_feedforward = 30, 64
    return build_model(config)


def _sam(torch: Any) -> Any:
    from segment_anything.modeling import ImageEncoderViT, MaskDecoder, PromptEncoder, Sam, TwoWayTransformer

    encoder = ImageEncoderViT(
        img_size=128,
        patch_size=16,
        embed_dim=32,
        depth=2,
        num_heads=2,
        mlp_ratio=2.0,
        out_chans=32,
        qkv_bias=True,
        norm_layer=partial(torch.nn.LayerNorm, eps=1e-6),
        use_rel_pos=True,
        window_size=4,
        global_attn_indexes=(1,),
    )
    decoder = MaskDecoder(
        transformer_dim=32,
        transformer=TwoWayTransformer(depth=1, embedding_dim=32, num_heads=8, mlp_dim=64),
        num_multimask_outputs=3,
        iou_head_depth=3,
        iou_head_hidden_dim=32,
    )
    return Sam(encoder, PromptEncoder(32, (8, 8), (128, 128), 16), decoder)
