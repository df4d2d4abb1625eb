"""What makes two questions the same: the key by which recorded answers are found."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from rbench.interfaces.vision import Question


def image_hash(image: npt.NDArray[np.uint8]) -> str:
    """SHA-256 (hex) of an image: its size and its pixels."""
    digest = hashlib.sha256(f"{image.dtype}{image.shape}".encode())
    digest.update(np.ascontiguousarray(image).tobytes())
    return digest.hexdigest()


def question_key(question: Question, images: tuple[str, ...]) -> str:
    """SHA-256 (hex) of name, prompt, images and form of the answer.

    Args:
        images: `image_hash` of each image of the question.
    """
    asked = [question.name, question.prompt, images, answer_schema(question.answer)]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


@cache
def answer_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of an answer, without titles and descriptions: these are for readers of the code."""
    bare: dict[str, Any] = _bare(answer.model_json_schema())
    return bare


def _bare(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    # A field of an answer may itself be called `title`; there, its value is a schema and no text.
    return {
        key: _bare(value)
        for key, value in schema.items()
        if not (key in ("title", "description") and isinstance(value, str))
    }
