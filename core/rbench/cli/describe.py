"""`rbench describe`: everything there is to know of one contribution."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rbench.cli.limit_options import start_limit_option
from rbench.cli.option_facts import option_facts
from rbench.cli.output import print_json, print_rich
from rbench.cli.plugin_names import find_plugin, split_plugin
from rbench.cli.values import parse_options
from rbench.errors import RbenchError, one_line
from rbench.plugins.catalog import build_catalog
from rbench.plugins.entry import UNPACKAGED

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rbench.plugins.catalog import Catalog
    from rbench.plugins.entry import CatalogEntry

#: How each kind is used on the command line.
USAGE = {
    "agent": "rbench run SUITE --agent {name}{options}",
    "wrapper": "rbench run SUITE --agent AGENT --wrap {name}{options}",
    "factor": 'in a suite file: [factors.NAME] with use = "{name}"',
    "metric": 'in a suite file: metrics = ["{name}"]',
    "suite": "rbench run {name} --agent AGENT (rbench show {name} says what it holds)",
    "vision-model": "rbench run SUITE --agent AGENT --vision {name}{options}",
}
FLAGS = {"agent": "-o OPTION=VALUE", "wrapper": "-w {name}.OPTION=VALUE", "vision-model": "-v OPTION=VALUE"}


@click.command("describe")
@click.argument("plugin", metavar="KIND:NAME")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Describe it with this option.")
@start_limit_option("An agent")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(plugin: str, options: tuple[str, ...], start_limit: float, as_json: bool) -> None:
    """Options, needs, cameras and origin of a plugin, and how it is used.

    An unpackaged one is named like agent:module:attribute. An agent is made and closed once, in a process of
    its own, to learn its cameras.
    """
    kind, name = split_plugin(plugin)
    catalog = build_catalog()
    facts = _facts(catalog, find_plugin(catalog, kind, name), parse_options(options, "-o"), start_limit)
    if as_json:
        print_json(facts)
    else:
        print_rich(*_overview(facts))


def _facts(catalog: Catalog, entry: CatalogEntry, given: Mapping[str, Any], start_limit: float) -> dict[str, Any]:
    record = entry.contribution
    facts: dict[str, Any] = {
        "kind": entry.kind,
        "name": entry.name,
        "qualified": entry.qualified,
        "distribution": entry.distribution,
        "version": entry.version,
        "status": "conflict" if entry.conflict else "ok",
        "error": entry.conflict,
        "summary": record.summary,
        "target": record.target,
        "needs": list(record.needs),
        "missing": list(entry.missing),
        "verified": record.verified,
        "options": None,
        "options_error": None,
        "usage": "",
    }
    try:
        model = entry.options_model()
        facts["options"] = {} if model is None else option_facts(model)
    except RbenchError as problem:
        facts["options_error"] = str(problem)
    facts["usage"] = _usage(entry, facts["options"] or {})
    if given:
        entry.resolve_options(given)  # an unknown option is wrong use, also here
    if entry.kind == "agent":
        facts |= _manifest(catalog, entry, given, start_limit)
    elif entry.kind == "factor":
        facts |= _levels(entry, given)
    return facts


def _manifest(catalog: Catalog, entry: CatalogEntry, given: Mapping[str, Any], start_limit: float) -> dict[str, Any]:
    """What the agent takes and gives, from an agent that is made and closed again; or why it cannot be made."""
    # Not at the top: everything else can be described without the machinery of runs.
    from rbench.running.description import Part, RunDescription
    from rbench.running.executors import Execution
    from rbench.running.learning import declared_for
    from rbench.running.limits import Limits
    from rbench.values import to_plain

    empty = {"manifest": None, "manifest_error": None}
    try:
        part = Part(entry.qualified, dict(given), entry.folder)
        declared = declared_for(catalog, RunDescription("", part), Execution(limits=Limits(start=start_limit)))
        return empty | {"manifest": to_plain(declared.manifest)}
    except RbenchError as problem:
        return empty | {"manifest_error": str(problem)}
    except Exception as problem:  # the agent's own code, which only the manifest needs
        return empty | {"manifest_error": one_line(problem)}


def _levels(entry: CatalogEntry, given: Mapping[str, Any]) -> dict[str, Any]:
    """The levels of a factor as its options make them; or why they cannot be known."""
    empty = {"levels": None, "tolerance": None, "levels_error": None}
    try:
        factor = entry.load()(entry.resolve_options(given))
        return empty | {"levels": [level.name for level in factor.levels()], "tolerance": factor.tolerance}
    except RbenchError as problem:
        return empty | {"levels_error": str(problem)}
    except Exception as problem:
        return empty | {"levels_error": one_line(problem)}


def _usage(entry: CatalogEntry, options: Mapping[str, Any]) -> str:
    flag = FLAGS.get(entry.kind)
    shown = f" [{flag} ...]" if flag and options else ""
    name = entry.name if not entry.conflict else entry.qualified
    return USAGE[entry.kind].format(name=name, options=shown.format(name=name))


def _overview(facts: Mapping[str, Any]) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, text in _lines(facts):
        table.add_row(label, Text(text))
    parts: list[RenderableType] = [Text.assemble((f"{facts['kind']} {facts['name']}", "bold")), table]
    if facts["options"]:
        options = Table("option", "type", "default", "meaning", box=None, pad_edge=False, header_style="bold")
        for name, option in facts["options"].items():
            default = "required" if option["required"] else _shown(option["default"])
            options.add_row(Text(name), Text(option["type"]), Text(default), Text(option["description"]))
        parts += ["", options]
    return parts


def _lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    origin = f"{facts['distribution']} {facts['version']}".rstrip()
    if facts["distribution"] == UNPACKAGED:
        origin = "not packaged"
    needs = ", ".join(f"{n} (not installed)" if n in facts["missing"] else n for n in facts["needs"])
    lines = [
        ("", facts["summary"]),
        ("from", origin),
        ("needs", needs or "nothing more"),
        ("verified", facts["verified"] or "not said"),
    ]
    if facts["error"]:
        lines.append(("conflict", facts["error"]))
    if "manifest" in facts:
        lines += _manifest_lines(facts["manifest"], facts["manifest_error"])
    if "levels" in facts:
        lines += _level_lines(facts)
    if facts["options_error"]:
        lines.append(("options", f"not known: {facts['options_error']}"))
    elif not facts["options"]:
        lines.append(("options", "none"))
    return [*lines, ("use", facts["usage"])]


def _manifest_lines(manifest: Mapping[str, Any] | None, error: str | None) -> list[tuple[str, str]]:
    if manifest is None:
        return [("cameras", f"not known: {error}")]
    cameras = [
        f"{name} {request['width']} x {request['height']} {'+'.join(request['channels'])}"
        + (" (primary)" if name == manifest["primary"] else "")
        for name, request in manifest["cameras"].items()
    ]
    return [
        ("cameras", ", ".join(cameras) or "none"),
        ("actions", f"{', '.join(manifest['actions'])}, {manifest['control_rate']} Hz"),
        ("tasks", ", ".join(manifest["kinds"])),
        ("privileged", "yes: it reads ground truth" if manifest["privileged"] else "no"),
    ]


def _level_lines(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    if facts["levels"] is None:
        return [("levels", f"not known: {facts['levels_error']}")]
    names = facts["levels"]
    some = ", ".join(names) if len(names) <= 12 else f"{', '.join(names[:5])} .. {names[-1]}"
    return [("levels", f"{len(names)}: {some}"), ("tolerance", f"{facts['tolerance']:g}")]


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)
