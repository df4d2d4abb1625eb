"""The data set card: what is in a data set and how it came to be, for people and for hubs."""

from __future__ import annotations

from collections.abc import Sequence

from rbench.collecting.collection import Collection, Place, write_text
from rbench.collecting.formats.form import Written
from rbench.collecting.gathering import Gathered
from rbench.values import content_hash

#: What a hub wants to know of a LeRobot data set.
_HUB = ["tags: [LeRobot]", "configs:", "- config_name: default", "  data_files: data/*/*.parquet"]


def write_card(collection: Collection, place: Place, gathered: Gathered, written: Sequence[Written]) -> None:
    """Write README.md. Its licence is left to whoever publishes the data."""
    manifest = gathered.run.manifest
    protocol = gathered.suite.protocol
    frames = sum(item.length for item in written)
    failures = ", ".join(f"{count} {outcome}" for outcome, count in sorted(gathered.failures.items())) or "none"
    renderers = sorted({str(item.gl.get("renderer", "unknown")) for item in written})
    contexts = len({item.origin["context"] for item in written})
    options = ", ".join(f"{key} = {value}" for key, value in collection.agent.options.items()) or "defaults"
    lines = [
        "---",
        "task_categories: [robotics]",
        *(_HUB if collection.form.startswith("lerobot") else []),
        "---",
        "",
        f"# Demonstrations for {collection.suite}",
        "",
        f"{len(written)} demonstrations, {frames} frames at {collection.rate} Hz, format `{collection.form}`, collected"
        " in simulation by rbench. Licence: none is stated; whoever publishes this data chooses one.",
        "",
        "| | |",
        "|---|---|",
        f"| demonstrated by | `{manifest.agent.qualified}` {manifest.agent.version} ({options}) |",
        f"| attempts | {gathered.attempts}; left out because they did not succeed: {failures} |",
        f"| varied | contexts of the suite ({contexts} of {len(gathered.suite.contexts)} occur), and jitter of"
        f" +-{1000 * protocol.jitter_xy:g} mm and +-{protocol.jitter_yaw:g} degrees; nothing visual |",
        f"| cameras | {', '.join(collection.cameras)}; {collection.height} x {collection.width} pixels |",
        f"| instructions | {'; '.join(dict.fromkeys(item.instruction for item in written))} |",
        f"| run seed | {collection.seed} |",
        f"| suite | `{collection.suite}`, hash {collection.suite_hash} |",
        f"| suite as run | `collection/suite.toml`, hash {gathered.suite.hash} |",
        f"| content | SHA-256 over the hashes of all files of demonstrations: {_content(written)} |",
        f"| render profile | {gathered.suite.render}, drawn by {'; '.join(renderers)} |",
        f"| versions | {', '.join(f'{name} {version}' for name, version in manifest.versions.items())} |",
        "",
        "How it came to be lies in `collection/`: `rbench replay collection/run EPISODE` shows a demonstration again,"
        " `rbench report collection/run` the attempts, and `collection/written/` holds the origin and the SHA-256 of"
        " every file of every demonstration.",
        "",
    ]
    write_text(place.path / "README.md", "\n".join(lines))


def _content(written: Sequence[Written]) -> str:
    return content_hash([dict(item.files) for item in written])
