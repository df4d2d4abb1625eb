"""What a user asks of a run: on the command line, and in the file that `--config` names.

The file is a TOML file with the same words as the options, or the manifest.json of another run. The command line beats
the file, and the file beats the defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from rbench.cli.values import parse_options, parse_wrapper_options
from rbench.errors import UsageError, did_you_mean
from rbench.reading import read_json, read_toml
from rbench.results.manifest import Manifest
from rbench.running.agents import DEFAULT_VISION
from rbench.running.description import Part, RunDescription, description_of
from rbench.running.executors import DEFAULT_EXECUTOR, Execution
from rbench.running.limits import Limits
from rbench.running.plan import Selection
from rbench.running.shards import Shard
from rbench.values import from_plain


@dataclass(frozen=True)
class _Plain:
    """What is said with plain words, on the command line and in a file alike; None or empty: not said.

    Attributes:
        out: the run directory.
    """

    suite: str | None = None
    dimension: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    limit: int | None = None
    repeats: int | None = None
    preset: str | None = None
    shard: str | None = None
    seed: int | None = None
    executor: str | None = None
    workers: int | None = None
    episode_limit: float | None = None
    start_limit: float | None = None
    worker_memory: float | None = None
    out: str | None = None


@dataclass(frozen=True)
class RunWishes(_Plain):
    """What was asked for; None or empty: not said.

    Attributes:
        wrap: outermost first.
    """

    agent: Part | None = None
    wrap: tuple[Part, ...] = ()
    vision: Part | None = None

    def description(self) -> RunDescription:
        """The run that is asked for.

        Raises:
            UsageError: no suite, no agent, or a negative seed.
        """
        if self.suite is None:
            raise UsageError("which suite? Give its name, as in `rbench run roboview-bias --agent expert`")
        if self.agent is None:
            raise UsageError("which agent? Give one with --agent; `rbench list-plugins --kind agent` lists them")
        if (self.seed or 0) < 0:
            raise UsageError(f"seed {self.seed} is negative; give one of 0 or more")
        return RunDescription(
            suite=self.suite,
            agent=self.agent,
            wrappers=self.wrap,
            vision=self.vision,
            selection=Selection(
                dimensions=self.dimension,
                instances=self.instances,
                limit=self.limit,
                repeats=self.repeats,
                preset=self.preset,
                shard=None if self.shard is None else Shard.parse(self.shard),
            ),
            seed=self.seed or 0,
        )

    def execution(self) -> Execution:
        """Where it is to be executed. Raises UsageError for an unknown executor, no worker, or a negative limit."""
        limits = limits_over(Limits(), self.episode_limit, self.start_limit, self.worker_memory)
        return Execution(self.executor or DEFAULT_EXECUTOR, self.workers, limits)


def limits_over(base: Limits, episode: float | None, start: float | None, memory: float | None) -> Limits:
    """Limits with those that were said. Raises UsageError for a number that is none."""
    return Limits(
        base.episode if episode is None else episode,
        base.start if start is None else start,
        base.memory if memory is None else memory,
    )


def wishes(
    config: Path | None,
    *,
    agent: str | None,
    options: tuple[str, ...],
    wrappers: tuple[str, ...],
    wrapper_options: tuple[str, ...],
    vision: str | None,
    vision_options: tuple[str, ...],
    **said: Any,
) -> RunWishes:
    """The command line over the file.

    Options of an agent, wrapper or vision model are merged key by key, as long as the file names the same one.

    Args:
        said: values of the options that are plain, as `RunWishes` names them.

    Raises:
        UsageError: a file that cannot be read, an unknown key, or an option for nothing.
    """
    base = RunWishes() if config is None else read_config(config)
    wrap = base.wrap if not wrappers else tuple(_named(name, {}, base.wrap) for name in wrappers)
    by_wrapper = parse_wrapper_options(wrapper_options, [part.name for part in wrap])
    return replace(
        base,
        agent=_over(base.agent, agent, parse_options(options, "-o"), "-o", "--agent"),
        wrap=tuple(_named(part.name, by_wrapper[part.name], wrap) for part in wrap),
        vision=_vision(base.vision, vision, parse_options(vision_options, "-v")),
        **{name: value for name, value in said.items() if value not in (None, ())},
    )


def _over(base: Part | None, name: str | None, options: Mapping[str, Any], flag: str, owner: str) -> Part | None:
    if name is None and base is None:
        if options:
            raise UsageError(f"{flag} {next(iter(options))}=...: an option for what? Name it with {owner}")
        return None
    if base is None:
        return Part.named(name or "", options)
    return _named(base.name if name is None else name, options, [base])


def _vision(base: Part | None, name: str | None, options: Mapping[str, Any]) -> Part | None:
    """Options without a name are those of the model that a run is given by default."""
    if name is None and base is None:
        return Part(DEFAULT_VISION, options) if options else None
    return _over(base, name, options, "-v", "--vision")


def _named(name: str, options: Mapping[str, Any], known: list[Part] | tuple[Part, ...]) -> Part:
    """The part of that name: one that is known, with more options, or a new one."""
    for part in known:
        if part.name == name:
            return replace(part, options={**part.options, **options})
    return Part.named(name, options)


def read_config(path: Path) -> RunWishes:
    """What a TOML file or the manifest of another run asks for.

    Of a manifest: what decides its records, not where and how fast it ran.

    Raises:
        UsageError: it cannot be read, or has a key that is not a word of `rbench run`.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(f"--config {path}: cannot be read ({problem.strerror}); give a file") from None
    except UnicodeDecodeError:
        raise UsageError(f"--config {path}: is no text; give a TOML file or a manifest.json") from None
    if path.suffix == ".json":
        return _from_manifest(path, text)
    try:
        data = read_toml(text)
    except ValueError as problem:
        raise UsageError(f"--config {path}: not valid TOML: {problem}; correct it") from None
    return _from_words(path, data)


def _from_manifest(path: Path, text: str) -> RunWishes:
    try:
        data = read_json(text)
    except ValueError as problem:
        raise UsageError(f"--config {path}: not valid JSON: {problem}; give the manifest.json of a run") from None
    description = description_of(Manifest.from_plain(data, f"--config {path}"), f"--config {path}")
    selection = description.selection
    return RunWishes(
        suite=description.suite,
        agent=description.agent,
        wrap=description.wrappers,
        vision=description.vision,
        dimension=selection.dimensions,
        instances=selection.instances,
        limit=selection.limit,
        repeats=selection.repeats,
        preset=selection.preset,
        shard=None if selection.shard is None else str(selection.shard),
        seed=description.seed,
    )


@dataclass(frozen=True)
class _Words(_Plain):
    """The keys of a file: the words of the options, `-` as `_`."""

    agent: str | None = None
    option: Mapping[str, Any] = field(default_factory=dict)
    wrap: tuple[str, ...] = ()
    wrapper_option: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vision: str | None = None
    vision_option: Mapping[str, Any] = field(default_factory=dict)


_KEYS = {f.name.replace("_", "-"): f.name for f in fields(_Words)}
_LISTS = ("wrap", "dimension", "instances")


def _from_words(path: Path, data: Mapping[str, Any]) -> RunWishes:
    for key in data:
        if key not in _KEYS:
            raise UsageError(
                f"--config {path}: there is no {key!r}.{did_you_mean(key, _KEYS)} See `rbench run --help`."
            )
    plain = {_KEYS[key]: [v] if key in _LISTS and isinstance(v, str) else v for key, v in data.items()}
    try:
        words = from_plain(_Words, plain)
    except ValueError as problem:
        raise UsageError(f"--config {path}: {problem}; correct the value") from None
    if words.out == "" or words.suite == "":
        key = "out" if words.out == "" else "suite"
        raise UsageError(f"--config {path}: {key} is empty; give a name or leave it out")
    for name in words.wrapper_option:
        if name not in words.wrap:
            raise UsageError(f"--config {path}: wrapper-option.{name}: no wrapper {name!r} in this run; add it to wrap")
    if words.option and words.agent is None:
        raise UsageError(f"--config {path}: option: options of what? Add agent")
    return RunWishes(
        agent=None if words.agent is None else Part.named(words.agent, words.option),
        wrap=tuple(Part.named(name, words.wrapper_option.get(name)) for name in words.wrap),
        vision=_vision(None, words.vision, words.vision_option),
        **{f.name: getattr(words, f.name) for f in fields(_Plain)},
    )
