"""Options of a contribution, checked against its pydantic model, with errors for people."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rbench.errors import UsageError, did_you_mean
from rbench.secret_names import is_secret

if TYPE_CHECKING:
    import pydantic

#: Type of a pydantic error whose value may be a secret in the wrong place and is not shown.
HIDDEN = "hidden_value"


@dataclass(frozen=True)
class LocalPath:
    """Marks an option that names a file or folder: `Annotated[str | None, LocalPath()]`.

    It is made absolute where the user gives it, so that workers, other machines and a later `rbench resume` from
    another folder mean the same.

    Attributes:
        names: values that are no paths, of things that the plugin has itself.
    """

    names: tuple[str, ...] = ()

    def absolute(self, value: Any) -> Any:
        """The path with its folder; anything else as it is."""
        if not isinstance(value, str) or not value.strip() or value in self.names:
            return value
        try:
            return str(Path(value).expanduser().absolute())
        except RuntimeError:  # the home of nobody: whoever opens it says so
            return value


def located(model: type[pydantic.BaseModel], values: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The options as given, those that the model marks as paths absolute, and the names of these."""
    found, paths = dict(values), []
    for name, field in model.model_fields.items():
        given = field.alias or name
        for mark in field.metadata:
            if isinstance(mark, LocalPath) and given in found:
                found[given] = mark.absolute(found[given])
                if found[given] not in (None, *mark.names):
                    paths.append(given)
    return found, tuple(paths)


def checked_options(model: type[pydantic.BaseModel], values: Mapping[str, Any], where: str) -> pydantic.BaseModel:
    """The options as an instance of their model.

    The command line reads `name=false` and `name=7` as JSON, before anybody knows the type of the option. Where a text
    is wanted, or a choice of texts, it gets the text; that of other JSON (`1.10`) is no longer known, and is refused.

    Args:
        where: what the options belong to, for the message.

    Raises:
        UsageError: names every option that is unknown, missing or wrong, its value, and what is allowed. Numbers
            that are given are finite, whatever the model says: nothing can be done, compared or recorded with others.
            `true` and `false` are no numbers.
    """
    # Not at the top: listing plugins does not need pydantic.
    from pydantic import ValidationError

    try:
        try:
            found = model.model_validate(dict(values))
        except ValidationError as problem:
            if not (texts := _wanted_texts(problem.errors(include_url=False))):
                raise
            found = model.model_validate({**values, **texts})
    except ValidationError as problem:
        names = option_names(model)
        details = [dict(error) for error in problem.errors(include_url=False, include_context=True)]
        known = ", ".join(names) or "none"
        message = "; ".join(_described(detail, names) for detail in details)
        end = "" if message.endswith(("?", ".")) else "."
        raise UsageError(f"{where}: {message}{end} Its options: {known}.") from None
    resolved = found.model_dump(by_alias=True)
    for name, value in values.items():
        if undefined := _undefined(resolved.get(name)):
            raise UsageError(f"{where}: option {name!r} holds {undefined}; give a finite number")
        if isinstance(value, bool) and type(resolved.get(name)) in (int, float):  # pydantic takes true for 1
            raise UsageError(f"{where}: option {name!r} = {json.dumps(value)}: give a number")
    return found


def _wanted_texts(details: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The options that want a text, and were given a word or number of JSON, which is written in one way only."""
    texts = {}
    for detail in details:
        if len(detail["loc"]) == 1 and isinstance(detail["input"], (bool, int)):
            text = json.dumps(detail["input"])
            choices = str(detail.get("ctx", {}).get("expected", ""))
            if detail["type"] == "string_type" or (
                detail["type"] in ("literal_error", "enum") and f"'{text}'" in choices
            ):
                texts[detail["loc"][0]] = text
    return texts


def option_names(model: type[pydantic.BaseModel]) -> list[str]:
    """The names under which options are given."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _undefined(value: Any) -> str:
    """The first number in a value that is not finite; empty when there is none."""
    if isinstance(value, Mapping):
        return next(filter(None, map(_undefined, value.values())), "")
    if isinstance(value, (list, tuple, set, frozenset)):
        return next(filter(None, map(_undefined, value)), "")
    return str(value) if isinstance(value, float) and not math.isfinite(value) else ""


#: What pydantic calls tuples, sets and lists is written as one thing: a list of JSON.
_LISTS = dict.fromkeys(
    ("tuple_type", "list_type", "set_type", "frozen_set_type"), """should be a list, written like '["a", "b"]'"""
)


def _described(detail: Mapping[str, Any], names: list[str]) -> str:
    option = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        near = did_you_mean(option, names) if len(detail["loc"]) == 1 else ""
        return f"there is no option {option!r}.{near}".rstrip(".")
    if detail["type"] == "missing":
        return f"option {option!r} is required"
    message = _LISTS.get(detail["type"], str(detail["msg"]))
    given = detail["input"]
    if detail["type"] == "string_type" and len(detail["loc"]) == 1 and (given is None or isinstance(given, float)):
        message += f""", written like '{option}="1.10"'"""
    # A choice shows its alternatives in quotes: 'a', 'b' or 'c'.
    choices = re.findall(r"'([^']*)'", str(detail.get("ctx", {}).get("expected", "")))
    near = did_you_mean(given, choices) if isinstance(given, str) and choices else ""
    if not option:  # a rule over several options
        return message
    hidden = detail["type"] == HIDDEN or any(is_secret(str(part), given) for part in detail["loc"])
    shown = "(hidden)" if hidden else _short(given)
    return f"option {option!r} = {shown}: {message[:1].lower()}{message[1:]}{'.' + near if near else ''}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
