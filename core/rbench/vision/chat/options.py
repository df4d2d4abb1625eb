"""Options of the vision model `openai`."""

from __future__ import annotations

import re
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from rbench.plugins.options import HIDDEN
from rbench.vision.coordinates import CoordinateSpace
from rbench.vision.images import ImageFormat
from rbench.vision.spending import SpendingLimits

OPENAI = "https://api.openai.com/v1"

Structure = Literal["json_schema", "json_object", "none"]

#: As in manifests, which keep such a name and redact whatever else stands for a secret.
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
#: What rbench itself decides in a request.
_OWN_FIELDS = frozenset({"model", "messages", "stream", "n"})


def _hidden(message: str) -> PydanticCustomError:
    """An error that does not show the value: who misunderstands the option has written a key there."""
    return PydanticCustomError(HIDDEN, message)


class Options(SpendingLimits):
    """How to reach a model, how to ask it, and how much that may take."""

    model: str = Field(min_length=1, description="Name of the model, as the server knows it; best a dated snapshot.")
    base_url: str = Field(default=OPENAI, description="Where the API is; what /chat/completions is put behind.")
    api_key_env: str = Field(
        default="OPENAI_API_KEY",
        description="Name of the environment variable that holds the key. With a base_url of your own it may be unset.",
    )
    headers_env: dict[str, str] = Field(
        default_factory=dict, description="More headers: name of the header, and of the variable that holds its value."
    )
    extra_body: dict[str, Any] = Field(default_factory=dict, description="More fields of the request.")

    coordinate_space: CoordinateSpace | None = Field(
        default=None, description="In which numbers it gives coordinates; by default what is known of the model."
    )
    longest_side: int = Field(default=1000, ge=28, le=8192, description="Larger pictures are sent smaller (pixels).")
    multiple: int | None = Field(
        default=None, ge=1, le=256, description="Sides are rounded to multiples of it; by default as the model wants."
    )
    image_format: ImageFormat = "png"
    detail: Literal["low", "high", "auto"] | None = Field(default=None, description="`detail` of pictures, if sent.")

    temperature: float | None = Field(default=0.0, ge=0, le=2, description="null: not sent.")
    seed: int | None = Field(default=0, description="null: not sent.")
    max_tokens: int = Field(default=1024, ge=1, le=1_000_000, description="Most tokens of a reply.")
    token_field: Literal["auto", "max_tokens", "max_completion_tokens"] = Field(
        default="auto", description="What the server calls this limit; auto: tried out once."
    )
    structured: Literal["auto", "json_schema", "json_object", "none"] = Field(
        default="auto", description="How the form of the answer is asked for; auto: as much as the server takes."
    )

    timeout: float = Field(default=120.0, gt=0, le=3600, description="Seconds for a whole reply.")
    max_retries: int = Field(default=5, ge=0, le=20, description="After the first try, for what may pass.")
    first_wait: float = Field(default=1.0, ge=0, le=60, description="Seconds before the first retry; then doubled.")
    longest_wait: float = Field(
        default=60.0, gt=0, le=600, description="No wait is longer (s); when the server asks for more, the run stops."
    )
    requests_per_minute: float | None = Field(
        default=None, gt=0, description="Of all workers on this machine that ask this endpoint."
    )
    concurrency: int | None = Field(
        default=None, ge=1, le=1000, description="Requests at once, of all workers on this machine."
    )
    check_images: int = Field(
        default=1, ge=0, le=16, description="Small pictures in a trial request before the first episode; 0: no trial."
    )

    price_in: float | None = Field(default=None, ge=0, description="US dollars a million tokens of question.")
    price_out: float | None = Field(default=None, ge=0, description="US dollars a million tokens of reply.")
    transcripts: bool = Field(default=True, description="Keep all questions and replies in the run directory.")

    @field_validator("base_url")
    @classmethod
    def _usable_url(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            port = parts.port
        except ValueError:
            raise _hidden("is no URL; give one such as http://127.0.0.1:8000/v1") from None
        if parts.scheme not in ("http", "https") or not parts.hostname or port == 0 or not value.isprintable():
            raise _hidden("is no URL of a server; give one such as http://127.0.0.1:8000/v1")
        if "@" in parts.netloc:
            raise _hidden("holds a user or password; put the key into a variable and name it with api_key_env")
        return value

    @field_validator("api_key_env")
    @classmethod
    def _variable(cls, value: str) -> str:
        if not _VARIABLE.fullmatch(value):
            raise _hidden("must be the name of an environment variable (A-Z, 0-9, _), not the key itself")
        return value

    @field_validator("headers_env")
    @classmethod
    def _variables(cls, value: dict[str, str]) -> dict[str, str]:
        if not all(_VARIABLE.fullmatch(variable) for variable in value.values()):
            raise _hidden("must give the name of an environment variable for each header, not the value itself")
        if not all(re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", header) for header in value):
            raise _hidden("has a name that is none of a header")
        return value

    @field_validator("extra_body")
    @classmethod
    def _not_ours(cls, value: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(_OWN_FIELDS & value.keys()):
            raise ValueError(f"cannot set {', '.join(taken)}: rbench does; use the options")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.budget_usd is not None and (self.price_in is None or self.price_out is None):
            raise ValueError(
                "budget_usd needs price_in and price_out (US dollars a million tokens): no price is known by itself."
                " Give both, or limit budget_calls or budget_tokens"
            )
        return self
