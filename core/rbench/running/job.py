"""The job of a worker: the run description and what must be equal wherever it is executed, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rbench.errors import StartError
from rbench.results.provenance import versions
from rbench.running.description import RunDescription
from rbench.running.limits import Limits


@dataclass(frozen=True)
class Job:
    """Enough to run episodes of a run anywhere. JSON in and out (`rbench.values`).

    Attributes:
        suite_hash: of the suite that was planned.
        distributions: the only plugins that a worker loads.
        versions: what is installed where the run was planned.
        limits: what a worker process may take.
        files: hash of the file of each part that is no distribution, by its name.
        weights: SHA-256 of the files of weights that the agent declared.
    """

    description: RunDescription
    suite_hash: str
    distributions: tuple[str, ...]
    versions: Mapping[str, str]
    limits: Limits = field(default_factory=Limits)
    files: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)

    def check_versions(self) -> None:
        """Refuse to work with other versions than those the run was planned with.

        Raises:
            StartError: naming what differs.
        """
        here = versions(self.distributions, commits=False)
        names = sorted(self.versions.keys() | here.keys())
        different = [
            f"{name} is {here.get(name, 'not installed')} here and {self.versions.get(name, 'not installed')} there"
            for name in names
            if here.get(name) != self.versions.get(name)
        ]
        if different:
            raise StartError(
                f"a worker does not have the versions that the run was planned with: {'; '.join(different)}."
                " Install the same everywhere and do not change it during a run; then `rbench resume`"
            )

    def check_files(self, here: Mapping[str, str]) -> None:
        """Refuse to work with another file of an agent than the run was planned with.

        Args:
            here: as `files`, where the work is to be done.

        Raises:
            StartError: naming what differs.
        """
        for name, version in self.files.items():
            if here.get(name) != version:
                raise StartError(
                    f"the file of {name} is not the one that the run was planned with ({here.get(name)} here, {version}"
                    " there). Have the same file everywhere and leave it alone during a run; then `rbench resume`"
                )

    def check_weights(self, here: Mapping[str, str]) -> None:
        """Refuse to work with other weights than the run was planned with.

        Args:
            here: as `weights`, where the work is to be done.

        Raises:
            StartError: naming what differs.
        """
        for name in sorted(self.weights.keys() | here.keys()):
            if here.get(name) != self.weights.get(name):
                raise StartError(
                    f"the weights {name} are not those that the run was planned with (SHA-256 {here.get(name)} here,"
                    f" {self.weights.get(name)} there). Have the same file everywhere and leave it alone during a run;"
                    " then `rbench resume`"
                )
