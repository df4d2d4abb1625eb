"""GroundingDINO and SAM as the library `transformers` has them, from local folders.

A folder is what `save_pretrained` of model and processor writes, or a copy of a published one: `config.json`,
weights, `preprocessor_config.json` and, for GroundingDINO, the tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rbench.errors import StartError
from rbench_agent_moka.backends.torch_library import check_tokenizer, device_of, lacking, loading, quiet_transformers
from rbench_agent_moka.located_weights import files_of, model_folder
from rbench_agent_moka.model_output import detections, masks
from rbench_agent_moka.perception import Box, Detection, Detector, Segmenter, Settings
from rbench_agent_moka.sight import Mask, Sight
from rbench_agent_moka.weights import checked

LIBRARIES = ("torch", "transformers")


class _Local:
    """A model and its processor out of a folder."""

    model_type: ClassVar[str]
    released: ClassVar[str]
    classes: ClassVar[tuple[str, str]]
    extra = "transformers"

    @classmethod
    def without(cls) -> str | None:
        return lacking(LIBRARIES, cls.extra)

    @classmethod
    def _files(cls, settings: Settings, given: Path | None) -> list[Path]:
        folder = model_folder(given or settings.weights, cls.model_type)
        return [] if folder is None else files_of(folder)

    @classmethod
    def _missing(cls, settings: Settings, given: Path | None) -> str | None:
        absent = cls.without()
        if absent is not None:
            return absent
        if model_folder(given or settings.weights, cls.model_type) is None:
            where = given or settings.weights
            return (
                f"there is no folder with a model of type {cls.model_type!r}"
                f" {f'in {where}' if where else 'as no folder of weights is given'}; copy {cls.released} there"
                " (config.json, model.safetensors, preprocessor_config.json, tokenizer) and give -o weights=DIR"
            )
        return None

    def _load(self, settings: Settings, given: Path | None) -> tuple[Any, Any, Any]:
        """Model, processor and device, and fill in `weights`."""
        folder = model_folder(given or settings.weights, self.model_type)
        if folder is None:
            raise StartError(f"agent 'moka': {self._missing(settings, given)}")
        weights = files_of(folder)
        if not weights:
            raise StartError(f"weights {folder}: no model.safetensors or pytorch_model.bin there; copy the whole model")
        self.weights = {f"{folder.name}/{path.name}": checked(path) for path in weights}
        with loading(f"weights {folder}", LIBRARIES):
            library = quiet_transformers()
            model_class, processor_class = (getattr(library, name) for name in self.classes)
            safe = weights[0].suffix == ".safetensors"
            device = device_of(settings.device)
            processor = processor_class.from_pretrained(folder, local_files_only=True)
            model, notes = model_class.from_pretrained(
                folder, local_files_only=True, use_safetensors=safe, output_loading_info=True
            )
            if notes["missing_keys"]:
                named = ", ".join(sorted(notes["missing_keys"])[:3])
                raise StartError(f"weights {folder}: {len(notes['missing_keys'])} tensors are missing, as {named}")
            if hasattr(processor, "tokenizer"):
                check_tokenizer(processor.tokenizer, folder)
            return model.eval().to(device), processor, device


class TransformersDetector(_Local, Detector):
    """GroundingDINO; one prompt a name, as MOKA does."""

    model_type = "grounding-dino"
    released = "IDEA-Research/grounding-dino-tiny or -base from https://huggingface.co"
    classes = ("GroundingDinoForObjectDetection", "GroundingDinoProcessor")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._model, self._processor, self._device = self._load(settings, settings.detector_weights)

    @classmethod
    def missing(cls, settings: Settings) -> str | None:
        return cls._missing(settings, settings.detector_weights)

    @classmethod
    def files(cls, settings: Settings) -> list[Path]:
        return cls._files(settings, settings.detector_weights)

    def detect(self, sight: Sight, names: Sequence[str], threshold: float) -> list[list[Detection]]:
        return [self._of_name(sight, name, threshold) for name in names]

    def _of_name(self, sight: Sight, name: str, threshold: float) -> list[Detection]:
        import torch

        inputs = self._processor(images=sight.rgb, text=f"{name.lower().strip(' .')}.", return_tensors="pt")
        with torch.inference_mode():
            outputs = self._model(**inputs.to(self._device))
        found = self._processor.post_process_grounded_object_detection(
            outputs,
            inputs.input_ids,
            threshold=threshold,
            text_threshold=self.settings.text_threshold,
            target_sizes=[sight.size],
        )[0]
        boxes, scores = (found[key].cpu().numpy().astype(np.float64) for key in ("boxes", "scores"))
        return detections(boxes.reshape(-1, 4), scores, found["text_labels"], sight.size, threshold)


class TransformersSegmenter(_Local, Segmenter):
    """SAM, prompted with boxes, one mask each."""

    model_type = "sam"
    released = "facebook/sam-vit-base, -large or -huge from https://huggingface.co"
    classes = ("SamModel", "SamProcessor")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._model, self._processor, self._device = self._load(settings, settings.segmenter_weights)

    @classmethod
    def missing(cls, settings: Settings) -> str | None:
        return cls._missing(settings, settings.segmenter_weights)

    @classmethod
    def files(cls, settings: Settings) -> list[Path]:
        return cls._files(settings, settings.segmenter_weights)

    def segment(self, sight: Sight, boxes: Sequence[Box]) -> list[Mask]:
        import torch

        if not boxes:
            return []
        inputs = self._processor(images=sight.rgb, input_boxes=[[list(box) for box in boxes]], return_tensors="pt")
        sizes = inputs["original_sizes"], inputs["reshaped_input_sizes"]
        # The processor makes float64 boxes, which not every device has.
        inputs["input_boxes"] = inputs["input_boxes"].to(torch.float32)
        inputs = inputs.to(self._device)
        with torch.inference_mode():
            outputs = self._model(
                pixel_values=inputs["pixel_values"], input_boxes=inputs["input_boxes"], multimask_output=False
            )
        (found,) = self._processor.image_processor.post_process_masks(outputs.pred_masks.cpu(), *sizes)
        return masks(found.numpy(), len(boxes), sight.size)
