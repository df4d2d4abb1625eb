"""What a server says instead of a reply, and what that means: try again, change the request, or stop."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

#: Codes and types, lower case, by which servers say that there is no money or quota left: waiting does not help.
_NO_QUOTA = frozenset(
    {
        "insufficient_quota",
        "insufficient_balance",
        "insufficient_credits",
        "billing_hard_limit_reached",
        "billing_not_active",
        "arrearage",
        "allocationquota.freetieronly",
    }
)
_NO_ACCESS = frozenset({"invalid_api_key", "invalidapikey", "authentication_error", "permission_denied"})
_FILTERED = frozenset({"content_filter", "content_policy_violation", "data_inspection_failed", "datainspectionfailed"})
_LIMITED = frozenset({"rate_limit_exceeded", "rate_limit_error", "too_many_requests", "throttling", "limit_requests"})

_CUT_OFF = re.compile(r"could not finish the message|output limit was reached", re.IGNORECASE)

_MESSAGE_LIMIT = 600


@dataclass(frozen=True)
class Failure:
    """No reply.

    Attributes:
        status: of HTTP, or as an error in a body of status 200 says; None: no answer came at all.
        code: lower case, empty when the server gives none.
        message: one line.
        parameter: what of the request the server names as the reason.
        retry_after: seconds that the server asks to wait.
    """

    status: int | None
    code: str
    message: str
    parameter: str = ""
    retry_after: float | None = None

    def __str__(self) -> str:
        return f"{self.message} ({self.status})" if self.status is not None else self.message

    @property
    def no_quota(self) -> bool:
        """Money or quota is spent."""
        return self.status == 402 or self.code in _NO_QUOTA

    @property
    def no_access(self) -> bool:
        """The key is wrong or not allowed to."""
        return self.status in (401, 403) or self.code in _NO_ACCESS

    @property
    def filtered(self) -> bool:
        """A filter refused what was asked: a reply of its kind."""
        return self.code in _FILTERED

    @property
    def cut_off(self) -> bool:
        """The reply hit the token limit, and the server gives none of it (models that think first)."""
        return self.status == 400 and bool(_CUT_OFF.search(self.message))

    @property
    def limited(self) -> bool:
        """Too many requests: all workers should wait."""
        return self.status == 429 or self.code in _LIMITED

    @property
    def may_pass(self) -> bool:
        """Worth another try."""
        return self.status is None or self.status in (408, 409, 425, 429) or self.status >= 500 or self.limited


def failure_of(status: int, body: Any, text: str, headers: Mapping[str, str]) -> Failure:
    """What a response that is no reply says.

    Args:
        body: its JSON, or None when it is none. text: its text.
    """
    error: Any = body
    if isinstance(body, Mapping) and body.get("error"):
        error = body["error"]
    if not isinstance(error, Mapping):
        error = {"message": error if isinstance(error, str) else text}
    elif not error.get("message") and isinstance(body, Mapping) and body.get("message"):
        error = {**error, "message": body["message"]}
    code, kind = (str(error.get(name) or "").lower() for name in ("code", "type"))
    if 200 <= status < 300:  # an error inside: what it calls its code may be a status
        status = int(code) if re.fullmatch(r"[45]\d\d", code) else 500
        if (code in _NO_ACCESS or kind in _NO_ACCESS) and status == 500:
            status = 401
    named = _NO_QUOTA | _FILTERED | _LIMITED
    return Failure(
        status,
        kind if kind in named and code not in named else code,
        _one_line(str(error.get("message") or "no message")),
        str(error.get("param") or ""),
        retry_after(headers),
    )


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that a `Retry-After` (seconds or a date) or `retry-after-ms` header asks for."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = (headers.get(name) or "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", value):
            return float(value) * unit
        if value and name == "retry-after":
            try:
                when = parsedate_to_datetime(value)
            except ValueError:
                continue
            when = when if when.tzinfo else when.replace(tzinfo=UTC)
            return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
    return None


def json_or_none(text: str) -> Any:
    """What the text says as JSON, or None."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _one_line(text: str) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= _MESSAGE_LIMIT else line[: _MESSAGE_LIMIT - 3] + "..."
