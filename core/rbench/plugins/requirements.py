"""Requirements of suites and configurations: checked before work starts, never installed."""

from __future__ import annotations

import importlib.metadata
import shlex
from collections.abc import Mapping, Sequence

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from rbench.errors import StartError, UsageError


def check_requirements(requirements: Sequence[str], where: str, unusable: Mapping[str, str]) -> None:
    """Check that every requirement (PEP 508) is installed in a fitting version and usable.

    Args:
        where: who asks for them, for the message.
        unusable: installed plugin distributions that did not load -> why.

    Raises:
        UsageError: a requirement that cannot be read.
        StartError: what is missing, too old or not usable, with the command that fixes it.
    """
    problems: list[str] = []
    to_install: list[str] = []
    for text in requirements:
        requirement = _parsed(text, where)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        problem = _version_problem(requirement)
        if problem is not None:
            problems.append(problem)
            to_install.append(str(requirement))
        elif canonicalize_name(requirement.name) in unusable:
            problems.append(f"{unusable[str(canonicalize_name(requirement.name))]} (see `rbench list-plugins`)")
    if problems:
        fix = f". Fix it with: pip install {' '.join(map(shlex.quote, to_install))}" if to_install else ""
        raise StartError(f"{where} cannot start: {'; '.join(problems)}{fix}")


def _parsed(text: str, where: str) -> Requirement:
    try:
        return Requirement(text)
    except InvalidRequirement as problem:
        reason = str(problem).splitlines()[0]
        raise UsageError(
            f"{where}: requirement {text!r} cannot be read ({reason}); write it like rbench-agent-moka>=0.2"
        ) from None


def _version_problem(requirement: Requirement) -> str | None:
    try:
        version = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        return f"{requirement.name} is not installed"
    try:
        fits = requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        fits = False
    return None if fits else f"{requirement.name} {version} is installed, {requirement} is needed"
