"""New plugins: a complete distribution from a template, which works as it is."""

from __future__ import annotations

import importlib.util
import keyword
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from rbench.errors import StartError, UsageError, did_you_mean
from rbench.plugins.catalog import Catalog

#: Kind -> the one line that its template says about itself.
SUMMARIES = {
    "agent": "Moves the hand above what stands out most in colour, and stops.",
    "wrapper": "Adds a sentence to the instruction and slows motions down.",
    "factor": "Intensity of the light that is everywhere.",
    "metric": "How long successful episodes took, in simulated seconds.",
    "suite": "The colour of the object, studied from four places.",
}
#: Names that a distribution and a contribution may have, and that make a name of a Python package.
_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
_LONGEST = 60
#: Ends the names of template files: nobody takes them for code of rbench.
_SUFFIX = ".txt"
_TEMPLATES = files("rbench.testing") / "templates"


@dataclass(frozen=True)
class PluginNames:
    """The names of a new plugin.

    Attributes:
        name: of the contribution. distribution: what pip installs. package: what Python imports.
    """

    kind: str
    name: str

    @property
    def distribution(self) -> str:
        return f"rbench-{self.kind}-{self.name}"

    @property
    def package(self) -> str:
        return re.sub(r"[.-]", "_", self.distribution)

    @property
    def class_name(self) -> str:
        """`MyThing` of `my-thing`; with the kind behind it, so that it is no keyword and hides no other name."""
        words = "".join(word.capitalize() for word in re.split(r"[._-]+", self.name))
        ending = self.kind.capitalize()
        words = words if words.endswith(ending) and words != ending else words + ending
        return words if words.isidentifier() else f"Plugin{words}"


def new_plugin(kind: str, name: str, folder: Path | None, catalog: Catalog) -> Path:
    """Write a new plugin and return its folder.

    Args:
        folder: must not exist yet; by default the name of the distribution, in the working directory.
        catalog: what is installed: a name that is taken is refused.

    Raises:
        UsageError: an unknown kind, a name that cannot be used or is taken, a folder that exists.
        StartError: the folder cannot be written.
    """
    names = _checked(kind, name, catalog)
    target = Path(names.distribution) if folder is None else folder
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists already, and nothing is written over; choose another folder with -o")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside it, then moved: a plugin is there whole or not at all.
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{names.distribution}-") as scratch:
            draft = Path(scratch) / "plugin"
            for path, text in _files(names):
                (draft / path).parent.mkdir(parents=True, exist_ok=True)
                (draft / path).write_text(text, encoding="utf-8")
            shutil.move(draft, target)
    except OSError as problem:
        raise StartError(f"{target} cannot be written ({problem.strerror}); choose another folder with -o") from None
    return target


def next_commands(kind: str, name: str, folder: Path) -> list[str]:
    """What to do with a new plugin first: install it, check it, run it."""
    place = str(folder) if folder.is_absolute() or str(folder).startswith(".") else f"./{folder}"
    study = shlex.quote(f"{place}/study.toml")
    run = {
        "agent": f"roboview-bias --agent {name}",
        "wrapper": f"roboview-bias --agent expert --wrap {name}",
        "factor": f"{study} --agent expert",
        "metric": f"{study} --agent expert",
        "suite": f"{name} --agent expert",
    }
    return [
        f"python -m pip install -e {shlex.quote(place)}",
        f"rbench show {name}" if kind == "suite" else f"rbench check-plugin {kind}:{name}",
        f"rbench run {run[kind]} --limit 8",
    ]


def _checked(kind: str, name: str, catalog: Catalog) -> PluginNames:
    if kind not in SUMMARIES:
        raise UsageError(f"there is no template for kind {kind!r}.{did_you_mean(kind, SUMMARIES)}")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST or re.search(r"[._-]{2}", name):
        raise UsageError(
            f"{name!r} cannot be the name of a plugin; use lower-case letters and digits, with single '-', '_' or '.'"
            f" between them, at most {_LONGEST}, for example my-{kind}"
        )
    taken = [entry for entry in catalog.entries(kind) if entry.name == name]
    if taken:
        raise UsageError(f"{taken[0].label} is installed already; choose another name")
    word = re.sub(r"[.-]", "_", name)
    if keyword.iskeyword(word) or keyword.issoftkeyword(word) or not word.isidentifier():
        raise UsageError(
            f"{name!r} cannot be the name of a plugin: it is no name in Python; choose another, for example my-{name}"
        )
    names = PluginNames(kind, name)
    for module in (word, names.package):
        if module in sys.stdlib_module_names or _is_there(module):
            raise UsageError(
                f"{name!r} cannot be the name of a plugin: there is a module {module!r} already;"
                f" choose another, for example my-{name}"
            )
    return names


def _is_there(module: str) -> bool:
    """Whether a module of that name is installed; a mere folder of that name is none."""
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):  # something that is half there
        return True
    return spec is not None and spec.origin is not None


def _files(names: PluginNames) -> Iterator[tuple[Path, str]]:
    words = {
        "name": names.name,
        "distribution": names.distribution,
        "package": names.package,
        "class": names.class_name,
        "summary": SUMMARIES[names.kind],
        "range": _range(version("rbench")),
    }
    for path, source in _walk(_TEMPLATES / names.kind, Path()):
        text = re.sub(r"@@(\w+)@@", lambda match: words[match[1]], source.read_text(encoding="utf-8"))
        parts = [names.package if part == "package" else part for part in path.parts]
        yield Path(*parts).with_name(path.name.removesuffix(_SUFFIX)), text


def _walk(folder: Traversable, path: Path) -> Iterator[tuple[Path, Traversable]]:
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            yield from _walk(item, path / item.name)
        elif item.name.endswith(_SUFFIX):
            yield path / item.name, item


def _range(installed: str) -> str:
    """The versions that a plugin written today goes with: from this minor version to before the next."""
    major, minor = (int(part) for part in installed.split(".")[:2])
    return f">={major}.{minor},<{major}.{minor + 1}"
