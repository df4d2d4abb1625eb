"""What of a request a server takes. Servers differ, and say so only when asked: with status 400.

Each thing is changed once, remembered as long as the model lives, and told in the usage of every reply.
"""

from __future__ import annotations

import re
from typing import Any

from rbench.vision.chat.failures import Failure
from rbench.vision.chat.options import Options, Structure

_UNSUPPORTED = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|not permitted|not allowed|unexpected|\binstead\b"
    r"|extra (?:inputs|fields)"
    r"|does not (?:accept|exist)|only the default|deprecated|invalid (?:parameter|value|schema|type)|must contain",
    re.IGNORECASE,
)
#: A request that is too long names the token limit too, and is another matter.
_TOO_LONG = re.compile(r"too (?:large|long|many tokens)|context.?length|maximum context|exceeds? the", re.IGNORECASE)
_STRUCTURE = ("response_format", "json_schema", "json_object", "guided_json", "grammar", "structured output")


class Dialect:
    """How requests are phrased for one server."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._token_field = "max_tokens" if options.token_field == "auto" else options.token_field
        self._structure: Structure = "json_schema" if options.structured == "auto" else options.structured
        self._left_out: set[str] = set()
        self._adapted: list[str] = []

    @property
    def adapted(self) -> tuple[str, ...]:
        """What was changed, by name."""
        return tuple(self._adapted)

    def fields(self, schema: dict[str, Any], name: str) -> dict[str, Any]:
        """The fields of a request that servers differ in.

        Args:
            schema: JSON schema of the answer.
            name: of the question, for the server's log.
        """
        fields: dict[str, Any] = {self._token_field: self._options.max_tokens}
        for field, value in (("temperature", self._options.temperature), ("seed", self._options.seed)):
            if value is not None and field not in self._left_out:
                fields[field] = value
        # Structured output is about objects; a list stands in prose or in a fence.
        if schema.get("type") == "object" or "properties" in schema:
            if self._structure == "json_schema":
                label = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
                fields["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": label, "schema": schema, "strict": False},
                }
            elif self._structure == "json_object":
                fields["response_format"] = {"type": "json_object"}
        return fields

    def adapt(self, failure: Failure, sent: dict[str, Any]) -> bool:
        """Change what the server refuses of a request; False when it is nothing that can be changed."""
        if failure.status not in (400, 422) or _TOO_LONG.search(failure.message):
            return False
        said = f"{failure.parameter} {failure.message}".lower()
        # However it is named: schemas are refused in many words, and the answer is found without one too.
        if "response_format" in sent and any(word in said for word in _STRUCTURE):
            return self._structure_less(sent["response_format"]["type"])
        if not (_UNSUPPORTED.search(failure.message) or failure.code.startswith(("unsupported", "unknown"))):
            return False
        if self._options.token_field == "auto" and self._token_field == "max_tokens" and "max_tokens" in said:
            self._token_field = "max_completion_tokens"
            self._adapted.append("max_completion_tokens")
            return True
        for field in ("temperature", "seed"):
            if field in sent and field in said:
                self._left_out.add(field)
                self._adapted.append(f"no_{field}")
                return True
        return False

    def _structure_less(self, refused: str) -> bool:
        if self._options.structured != "auto":
            return False
        self._structure = "json_object" if refused == "json_schema" else "none"
        self._adapted = [name for name in self._adapted if not name.startswith("structured_")]
        self._adapted.append(f"structured_{self._structure}")
        return True
