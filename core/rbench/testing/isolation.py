"""Checks that an episode depends on its start alone: not on what ran before, on luck, or on the process."""

from __future__ import annotations

import hashlib
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.elsewhere import said_elsewhere
from rbench.testing.playing import Played, play
from rbench.testing.scenarios import baselines
from rbench.testing.subjects import CALLS, AgentSubject
from rbench.testing.worlds import fake_world


@check("deterministic")
def deterministic(subject: AgentSubject) -> None:
    """The same start, given to two instances, leads to the same actions, byte for byte."""
    with subject.fresh() as agent:
        for first, scenario in zip(subject.series, baselines(), strict=True):
            second = play(agent, fake_world(), scenario, calls=CALLS)
            if first.signature != second.signature:
                raise CheckFailed(
                    f"a second instance did otherwise in episode {scenario.name!r}: {first.difference(second)}",
                    "draw every random number from start.rng, keep nothing in class attributes and module globals, and"
                    " do not iterate over sets",
                )


@check("no-carry-over")
def no_carry_over(subject: AgentSubject) -> None:
    """Nothing is carried from one episode to the next: an episode after others equals the same episode alone."""
    first, _, last = baselines()
    alone = _repeatable(subject)
    remedy = "set everything that act() changes in reset(): plans, queues of actions, counters, memories, caches"
    after_others = subject.series[-1]
    if alone.signature != after_others.signature:
        raise CheckFailed(
            f"episode {last.name!r} went otherwise after two others than alone: {alone.difference(after_others)}",
            remedy,
        )
    with subject.fresh() as agent:
        play(agent, fake_world(), first, calls=1)
        after_cut = play(agent, fake_world(), last, calls=CALLS)
    if alone.signature != after_cut.signature:
        raise CheckFailed(
            f"episode {last.name!r} went otherwise after one that was cut off: {alone.difference(after_cut)}", remedy
        )


@check("own-randomness")
def own_randomness(subject: AgentSubject) -> None:
    """Random numbers come from start.rng: global generators are neither used nor changed."""
    subject.require_playable()
    played = []
    with global_generators() as generators:
        for seed in (11, 12):
            for generator in generators:
                generator.seed(seed)
            before = [generator.state() for generator in generators]
            played.append(subject.play_alone())
            for generator, state in zip(generators, before, strict=True):
                if generator.state() != state:
                    raise CheckFailed(
                        f"the global generator of {generator.name} was used, or seeded, in an episode",
                        "draw from start.rng; seed a library's own generator objects with start.rng.integers(2**32)",
                    )
    if played[0].signature != played[1].signature:
        _repeatable(subject)
        raise CheckFailed(
            f"an episode depends on global random state: {played[0].difference(played[1])}", "draw from start.rng"
        )


@check("same-in-another-process")
def same_in_another_process(subject: AgentSubject) -> None:
    """A worker process, with another hash seed, finds it by name and sees it do the same."""
    here = _repeatable(subject)
    if said_elsewhere("print_signature", subject.recipe()) != here.signature:
        raise CheckFailed(
            f"episode {here.scenario!r} went otherwise in another process",
            "do not iterate over sets, and do not use hash(), id() or the clock; keep no state in module globals",
        )


def _repeatable(subject: AgentSubject) -> Played:
    """The last baseline scenario alone, when it goes the same way twice.

    Raises:
        CheckSkipped: it does not, so that episodes cannot be compared.
    """
    first, second = subject.alone
    if first.signature != second.signature:
        raise CheckSkipped("it is not deterministic, so that episodes cannot be compared; see check 'deterministic'")
    return first


class GlobalGenerator:
    """A global random generator: how it is read, seeded, and put back."""

    def __init__(
        self, name: str, get: Callable[[], Any], put: Callable[[Any], Any], seed: Callable[[int], Any]
    ) -> None:
        self.name = name
        self._get, self.put, self.seed = get, put, seed

    def state(self) -> str:
        """A digest of its state."""
        return hashlib.sha256(repr(_listed(self._get())).encode()).hexdigest()

    def saved(self) -> Any:
        """Its state, to be put back."""
        return self._get()


def _listed(state: Any) -> Any:
    return [_listed(item) for item in state] if isinstance(state, tuple) else getattr(state, "tolist", lambda: state)()


@contextmanager
def global_generators() -> Iterator[list[GlobalGenerator]]:
    """The global generators of this process, put back afterwards."""
    legacy: Any = np.random
    generators = [
        GlobalGenerator("random", random.getstate, random.setstate, random.seed),
        GlobalGenerator("numpy.random", legacy.get_state, legacy.set_state, legacy.seed),
    ]
    if (torch := sys.modules.get("torch")) is not None:
        generators.append(
            GlobalGenerator("torch", torch.random.get_rng_state, torch.random.set_rng_state, torch.random.manual_seed)
        )
    saved = [generator.saved() for generator in generators]
    try:
        yield generators
    finally:
        for generator, state in zip(generators, saved, strict=True):
            generator.put(state)


CHECKS = (deterministic, no_carry_over, own_randomness, same_in_another_process)
