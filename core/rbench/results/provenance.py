"""Where a run came from: versions of what it used, the machine, and options without their secrets."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit
from urllib.request import url2pathname

from rbench.secret_names import is_secret

#: What every run uses, whatever its plugins are.
ALWAYS_USED = ("rbench", "numpy", "mujoco")

REDACTED = "[redacted]"

#: Shorter secrets are not looked for in other texts.
SHORTEST_SECRET = 6

_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s\"'<>]+")


def versions(distributions: Iterable[str] = (), commits: bool = True) -> dict[str, str]:
    """Version of Python, of rbench and its simulator, and of the named distributions, by name.

    A distribution that is installed from a working copy gets what git knows as a local version:
    `0.1.0+g6f2de48c0ffe` (commit), `.dirty` behind it when tracked files were changed. What is not
    installed is left out; nothing here is ever an error.

    Args:
        commits: ask git; without, no process is started.
    """
    found = {"python": platform.python_version()}
    known: dict[str, str] = {}
    for name in dict.fromkeys((*ALWAYS_USED, *sorted(distributions))):
        try:
            distribution = importlib.metadata.distribution(name)
        except (importlib.metadata.PackageNotFoundError, ValueError):
            continue
        folder = _working_copy(distribution) if commits else None
        if folder is not None and folder not in known:
            known[folder] = _commit(folder)
        commit = known.get(folder, "") if folder is not None else ""
        found[name] = f"{distribution.version}+{commit}" if commit else distribution.version
    return found


def host() -> dict[str, Any]:
    """What the machine is: platform, processor kind, usable processor cores, Python. No names, no environment."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cores": cores,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def redacted(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without secrets: values of keys that look secret, user, password and query of URLs.

    The *name* of an environment variable (`api_key_env = "OPENAI_API_KEY"`) is no secret and stays.
    """
    return {key: REDACTED if is_secret(key, value) else _without_secrets(value) for key, value in options.items()}


def secret_values(options: Mapping[str, Any]) -> frozenset[str]:
    """The texts that `redacted` takes out of options, so that errors and reports can be cleared of them too.

    Very short ones are left out: replacing them everywhere would garble what is no secret.
    """
    found: set[str] = set()

    def collect(value: Any, secret: bool) -> None:
        if isinstance(value, Mapping):
            for key, item in value.items():
                collect(item, secret or is_secret(key, item))
        elif isinstance(value, (list, tuple)):
            for item in value:
                collect(item, secret)
        elif secret and not isinstance(value, bool) and value is not None:
            found.add(str(value))
        elif isinstance(value, str):
            for match in _URL.finditer(value):
                found.update(_url_secrets(match.group()))

    collect(options, False)
    return frozenset(text for text in found if len(text) >= SHORTEST_SECRET)


def cleared(value: Any, secrets: Iterable[str]) -> Any:
    """Plain data in which every secret text is replaced."""
    if isinstance(value, str):
        for secret in sorted(secrets, key=len, reverse=True):
            value = value.replace(secret, REDACTED)
        return value
    if isinstance(value, Mapping):
        return {cleared(key, secrets): cleared(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [cleared(item, secrets) for item in value]
    return value


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return redacted(value)
    if isinstance(value, (list, tuple)):
        return [_without_secrets(item) for item in value]
    if isinstance(value, str):
        return _URL.sub(lambda match: _bare_url(match.group()), value)
    return value


def _url_secrets(url: str) -> Iterator[str]:
    """User, password and query values of a URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield from parts.netloc.rpartition("@")[0].split(":")
    yield from (value for _, value in parse_qsl(parts.query))


def _bare_url(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return REDACTED
    place = parts.netloc.rpartition("@")[2]
    user = f"{REDACTED}@" if "@" in parts.netloc else ""
    return urlunsplit((parts.scheme, user + place, parts.path, REDACTED if parts.query else "", parts.fragment))


def _working_copy(distribution: importlib.metadata.Distribution) -> str | None:
    """The folder that a distribution is installed from, when that is a folder."""
    try:
        text = distribution.read_text("direct_url.json")
        origin = json.loads(text) if text else {}
        if origin.get("dir_info", {}).get("editable") and origin["url"].startswith("file://"):
            return url2pathname(urlsplit(origin["url"]).path)
    except (OSError, ValueError, KeyError, AttributeError):
        pass
    return None


def _commit(folder: str) -> str:
    try:
        commit = _git(folder, "rev-parse", "--short=12", "HEAD")
        changed = _git(folder, "status", "--porcelain", "--untracked-files=no", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"g{commit}.dirty" if changed else f"g{commit}"


def _git(folder: str, *arguments: str) -> str:
    # Without optional locks `git status` does not write to the repository.
    done = subprocess.run(
        ["git", "--no-optional-locks", "-C", folder, *arguments],
        capture_output=True,
        text=True,
        timeout=10,
        check=True,
    )
    return done.stdout.strip()
