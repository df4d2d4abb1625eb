"""Checks of the vision models: their libraries import, and the keys that they read are set."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module

from rbench.doctor.check import Check
from rbench.errors import RbenchError
from rbench.plugins.catalog import Catalog, CatalogEntry
from rbench.simulation.child_process import module_answer

SECONDS = 60


def check_vision(catalog: Catalog, environ: Mapping[str, str]) -> Iterator[Check]:
    """One finding for each vision model whose libraries are installed (the others: `check_optional_libraries`)."""
    for entry in catalog.entries("vision-model"):
        if not entry.missing:
            yield _check(entry, environ)


def _check(entry: CatalogEntry, environ: Mapping[str, str]) -> Check:
    name = f"vision {entry.name if entry.conflict is None else entry.qualified}"
    found = []
    for library in entry.contribution.needs:
        # In a child: OpenCV, for one, ends the process where a system library that it was built for is missing.
        answer, problem = module_answer("rbench.doctor.vision", library, environ={}, seconds=SECONDS)
        if answer is None:
            return Check(
                name,
                "problem" if entry.distribution == "rbench" else "warning",
                f"{library} cannot be imported: {problem}",
                "python3 -m pip install --force-reinstall "
                + ("opencv-python-headless" if library == "cv2" else library.partition(".")[0]),
            )
        found.append(f"{library} {answer['version']}")
    try:
        variables = _key_variables(entry)
    except RbenchError as problem:
        return Check(name, "warning", str(problem), f"python3 -m pip install --force-reinstall {entry.distribution}")
    found += [f"key in {variable}: {'set' if environ.get(variable) else 'not set'}" for variable in variables]
    unset = [variable for variable in variables if not environ.get(variable)]
    detail = ", ".join(found) or "nothing to check"
    if unset:
        return Check(name, "warning", f"{detail}; only --vision {entry.name} needs it", f"export {unset[0]}=...")
    return Check(name, "ok", detail)


def _key_variables(entry: CatalogEntry) -> list[str]:
    """The environment variables that its options name by default: fields that end in `_env`. Never their values."""
    model = entry.options_model()
    fields = {} if model is None else model.model_fields
    return [
        str(field.default) for key, field in fields.items() if key.endswith("_env") and isinstance(field.default, str)
    ]


if __name__ == "__main__":
    print(json.dumps({"version": str(getattr(import_module(sys.argv[1]), "__version__", "of unknown version"))}))
