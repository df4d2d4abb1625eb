"""The accepted validation of a suite: a file beside the suite's own, which says that its pictures were found fair.

`rbench validate` writes it; it counts for the suite of exactly the hash that it names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from rbench.errors import SuiteError
from rbench.reading import read_json
from rbench.values import from_plain

SCHEMA = 1
#: Ending of the file's name, in place of that of the suite file.
SUFFIX = ".validation.json"

#: Stages in the order in which they are done, and what a table calls them.
STAGES: Mapping[str, str] = {"measured": "measured", "model": "by a vision model", "people": "by people"}


@dataclass(frozen=True)
class Accepted:
    """A validation that passed.

    Attributes:
        suite, suite_hash: what was validated.
        created: UTC, ISO 8601. rbench: the version that did it. gl: what drew the pictures.
        rule: least share of instances that passes, at every stage.
        stages: for each stage that was done, `pass_rate` (0..1) and how many were looked at.
        iterations: how many suites were validated until one passed.
    """

    suite: str
    suite_hash: str
    created: str
    rbench: str
    rule: float
    stages: Mapping[str, Any]
    gl: Mapping[str, Any] = field(default_factory=dict)
    iterations: int = 1
    schema: int = SCHEMA


def accepted_name(suite_file: str) -> str:
    """The name of the file that stands beside a suite file: `my-suite.validation.json`."""
    return suite_file.removesuffix(".toml") + SUFFIX


def read_accepted(folder: Traversable | Path, suite_file: str, suite_hash: str) -> Accepted | None:
    """The accepted validation beside a suite file; None when there is none, or it is of another version of the suite.

    Raises:
        SuiteError: the file is damaged.
    """
    place = folder.joinpath(accepted_name(suite_file))
    if not place.is_file():
        return None
    try:
        data = read_json(place.read_text(encoding="utf-8"))
        if not isinstance(data, dict) or not isinstance(data.get("schema"), int):
            raise ValueError("it has no schema")
        if data["schema"] > SCHEMA or data.get("suite_hash") != suite_hash:
            return None
        known = {f.name for f in fields(Accepted)}
        return from_plain(Accepted, {key: value for key, value in data.items() if key in known})
    except (OSError, ValueError) as problem:
        raise SuiteError(
            f"{place} is no accepted validation ({problem}). Remove it, or write it anew with rbench validate."
        ) from None


def _words(words: str, stage: Mapping[str, Any]) -> str:
    """What a table calls a stage: a model by its name, for an `opencv` is no second opinion of the paper's kind."""
    return f"by {stage['vision']}" if "vision" in stage else words


def validation_line(validated: Mapping[str, Any] | None) -> str:
    """Whether a suite is validated, as tables say it: `suite validated: measured 98.8 % of 2127 instances`.

    Args:
        validated: an `Accepted` as plain data, or None.
    """
    if validated is None:
        return "suite not validated: nobody has checked that its pictures are fair (rbench validate)"
    stages = validated.get("stages") or {}
    said = [
        f"{_words(words, stages[stage])} {100 * stages[stage]['pass_rate']:.1f} % of {stages[stage]['instances']:,}"
        for stage, words in STAGES.items()
        if stage in stages
    ]
    missing = [words for stage, words in STAGES.items() if stage not in stages]
    return f"suite validated: {', '.join(said)}" + (f"; not yet {' or '.join(missing)}" if missing else "")
