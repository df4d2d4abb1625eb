"""What an agent declares, learnt in the kind of process in which it would run."""

from __future__ import annotations

from rbench.plugins.catalog import Catalog
from rbench.running.declared import Declared, declared_here
from rbench.running.description import RunDescription
from rbench.running.executors import Execution


def declared_for(catalog: Catalog, description: RunDescription, execution: Execution) -> Declared:
    """What the agent of a run is, found out as the executor runs it: in this process, or in one that has limits.

    Raises:
        UsageError, StartError: as `rbench.running.declared.declared_here`; or a limit was passed, or the process ended.
    """
    if execution.executor == "serial":
        return declared_here(catalog, description)
    # Imported here: there are systems on which worker processes do not exist.
    from rbench.running.executors.declaring import declared_apart

    return declared_apart(catalog, description, execution.limits)
