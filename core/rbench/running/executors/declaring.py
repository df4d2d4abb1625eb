"""What an agent declares, found out in a process of its own, with the limits of a worker."""

from __future__ import annotations

import importlib
import json
import time
from dataclasses import asdict
from multiprocessing.connection import wait

from rbench.errors import StartError
from rbench.plugins.catalog import Catalog
from rbench.running.declared import Declared
from rbench.running.description import RunDescription
from rbench.running.executors.guardian import Guardian
from rbench.running.executors.messages import raise_failure
from rbench.running.executors.processes import GRACE, PAUSED, PULSE
from rbench.running.executors.watchdog import Watchdog
from rbench.running.executors.worker_process import Ending, WorkerProcess, end, stop
from rbench.running.interrupts import first_interrupt_only
from rbench.running.limits import Limits
from rbench.running.phases import Phase
from rbench.values import from_plain, to_plain


def declared_apart(catalog: Catalog, description: RunDescription, limits: Limits) -> Declared:
    """What the agent of a run is: made and closed in a process that ends with all that was started there.

    Args:
        catalog: says which plugins that process loads.
        limits: those of starting and of memory count.

    Raises:
        UsageError, StartError: as `rbench.running.declared.declared_here`; or a limit was passed, or the process ended.
    """
    order = {
        # As text: options go through as they were given, also what they must not be (NaN), so that it is refused.
        "description": json.dumps(asdict(description), default=to_plain),
        # By name, broken ones too: who asks for one of those is told why.
        "plugins": sorted({str(row["distribution"]) for row in catalog.rows()}),
    }
    gl = importlib.import_module("rbench.simulation.gl")
    with first_interrupt_only():
        guardian = Guardian()
        try:
            worker = WorkerProcess(
                {"declare": order},
                gl.gl_variables(gl.choose_gl()),
                1,
                guardian,
                name="the agent",
                span="when it was made before the run",
            )
            try:
                found = _answer(worker, Watchdog(limits, 1), description.agent.name)
            except BaseException:
                stop([worker])
                raise
            end([worker])
            return found
        finally:
            guardian.close()


def _answer(worker: WorkerProcess, watchdog: Watchdog, agent: str) -> Declared:
    looked = time.monotonic()
    while True:
        wait([worker.connection], PULSE)
        # Asked before reading: what it sent before it died is then there to be read.
        dead = not worker.alive
        messages, hung_up = worker.received()
        for message, _ in messages:
            if "declared" in message:
                return from_plain(Declared, message["declared"])
            raise_failure(message)
        if dead or hung_up:
            ending = worker.ending()
            if ending.by_request:  # a job that is ended as a whole: our own signal is on its way
                time.sleep(GRACE)
            raise _lost(agent, worker.phase, ending)
        now = time.monotonic()
        if now - looked - PULSE > PAUSED:
            worker.began += now - looked - PULSE
        looked = now
        if exceeded := watchdog.exceeded(worker):
            raise _lost(agent, worker.phase, worker.end_for(exceeded))


def _lost(agent: str, phase: Phase, ending: Ending) -> StartError:
    todo = "run with --executor serial to see why" if ending.exceeded is None else "mend the agent, or raise the limit"
    return StartError(
        f"agent {agent!r}: the process in which it is made before the run, to learn what it declares, was lost"
        f" {phase.words} ({ending}); {todo}"
    )
