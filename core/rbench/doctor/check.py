"""One finding of the doctor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Check:
    """What was looked at, and what was found.

    Attributes:
        check: what was looked at; the same name on every machine.
        status: `problem` when something needed is broken, `warning` when something that may be wanted is.
        detail: what was found.
        remedy: the one line that fixes it; None when there is nothing to fix.
    """

    check: str
    status: Status
    detail: str
    remedy: str | None = None
