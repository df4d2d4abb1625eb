from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.plugins import loading
from rbench.plugins.catalog import build_catalog
from rbench.plugins.loading import HOOKS, LoadedPlugin

Install = Callable[..., Path]
LoadOne = Callable[[str], LoadedPlugin]

HEAD = """
from rbench.contributions import *
from rbench.hookspecs import hookimpl
def agent(name="fine", **more):
    return AgentContribution(**{"name": name, "summary": "An agent.", "target": "m:A", **more})
"""

#: What is wrong -> source of the plugin module, and what the reason must say.
BAD = {
    "missing import": ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
    "import error": ("raise ImportError('half an\\nupgrade')", "ImportError: half an upgrade"),
    "syntax error": ("def broken(:", "SyntaxError: "),
    "exit at import": ("import sys; sys.exit('bye')", "SystemExit: bye"),
    "silent exit": ("raise SystemExit", "SystemExit"),
    "any exception": ("1 / 0", "ZeroDivisionError: division by zero"),
    "exception without a message that can be read": (
        "class Odd(Exception):\n    def __str__(self): raise ValueError\nraise Odd",
        "Odd: (its message cannot be read)",
    ),
    "endless recursion": ("def f(): f()\nf()", "RecursionError"),
    "half a registration": (
        "@hookimpl\ndef rbench_agents():\n    yield agent()\n    raise RuntimeError('half way')",
        "RuntimeError: half way",
    ),
    "a second hook that fails": (
        "@hookimpl\ndef rbench_agents():\n    yield agent()\n@hookimpl\ndef rbench_suites():\n    return [1]",
        "rbench_suites() must yield SuiteContribution records, got 1",
    ),
    "misspelt hook": (
        "@hookimpl\ndef rbench_agent():\n    yield agent()",
        "there is no hook 'rbench_agent'. Did you mean 'rbench_agents'",
    ),
    "misspelt hook beside a good one": (
        "@hookimpl\ndef rbench_agents():\n    yield agent()\n@hookimpl\ndef rbench_metric():\n    return []",
        "there is no hook 'rbench_metric'",
    ),
    "hook with arguments": ("@hookimpl\ndef rbench_agents(config):\n    yield agent()", "{'config'} are declared"),
    "hook without its decorator": ("def rbench_agents():\n    yield agent()", "rbench_agents() is not a hook yet"),
    "no hook": ("", "it implements no hook"),
    "hook wrapper": ("@hookimpl(wrapper=True)\ndef rbench_agents():\n    return (yield)", "is a hook wrapper"),
    "returns nothing": ("@hookimpl\ndef rbench_agents():\n    agent()", "rbench_agents() returned None"),
    "returns one record": ("@hookimpl\ndef rbench_agents():\n    return agent()", "an iterable of AgentContribution"),
    "returns text": ("@hookimpl\ndef rbench_agents():\n    return 'fine'", "an iterable of AgentContribution, got str"),
    "yields another kind": (
        "@hookimpl\ndef rbench_agents():\n    yield MetricContribution(name='a', summary='b', target='c:d')",
        "rbench_agents() must yield AgentContribution records",
    ),
    "yields a class": ("@hookimpl\ndef rbench_agents():\n    yield AgentContribution", "must yield AgentContribution"),
    "name with capitals": ("@hookimpl\ndef rbench_agents():\n    yield agent('Fine')", "name 'Fine' is not valid"),
    "name with a slash": ("@hookimpl\ndef rbench_agents():\n    yield agent('a/b')", "name 'a/b' is not valid"),
    "name with a line break": ("@hookimpl\ndef rbench_agents():\n    yield agent('a\\n')", "is not valid"),
    "name that is no text": ("@hookimpl\ndef rbench_agents():\n    yield agent(None)", "name None is not valid"),
    "duplicate name": (
        "@hookimpl\ndef rbench_agents():\n    yield agent()\n    yield agent()",
        "yields the name 'fine' twice",
    ),
    "the same name without end": (
        "@hookimpl\ndef rbench_agents():\n    while True: yield agent()",
        "yields the name 'fine' twice",
    ),
    "no summary": ("@hookimpl\ndef rbench_agents():\n    yield agent(summary=' ')", "summary must be one line"),
    "long summary": ("@hookimpl\ndef rbench_agents():\n    yield agent(summary='a\\nb')", "summary must be one line"),
    "target is a class": ("@hookimpl\ndef rbench_agents():\n    yield agent(target=int)", "target must be 'module:"),
    "target without attribute": ("@hookimpl\ndef rbench_agents():\n    yield agent(target='m')", "target must be"),
    "options is a class": ("@hookimpl\ndef rbench_agents():\n    yield agent(options=int)", "options must be 'module"),
    "needs is text": ("@hookimpl\ndef rbench_agents():\n    yield agent(needs='torch')", "needs must be a tuple"),
    "needs is a requirement": ("@hookimpl\ndef rbench_agents():\n    yield agent(needs=('a>=1',))", "needs must be"),
    "verified is no text": ("@hookimpl\ndef rbench_agents():\n    yield agent(verified=3)", "verified must be text"),
    "suite outside its package": (
        "@hookimpl\ndef rbench_suites():\n    yield SuiteContribution(name='a', summary='b', target='c:../d.toml')",
        "target must be 'package:file.toml'",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_plugin_is_left_out_whole_with_the_reason(install: Install, load_one: LoadOne, what: str) -> None:
    source, reason = BAD[what]
    install("fake-bad", HEAD + source)
    plugin = load_one("fake-bad")
    assert plugin.status == "broken"
    assert plugin.contributions == ()
    assert reason in str(plugin.error)
    assert "\n" not in str(plugin.error)


def test_all_bad_plugins_together_cost_themselves_only(install: Install, install_agent: Install) -> None:
    before = build_catalog({}).rows()
    for number, (source, _) in enumerate(BAD.values()):
        install(f"fake-bad-{number}", HEAD + source)
    install_agent("fake-good", "good")
    rows = build_catalog({}).rows()
    assert [row for row in rows if not row["distribution"].startswith("fake-")] == before
    assert [row["name"] for row in rows if row["distribution"] == "fake-good"] == ["good"]
    broken = {row["distribution"]: row["status"] for row in rows if row["distribution"].startswith("fake-bad")}
    assert broken == {f"fake-bad-{number}": "broken" for number in range(len(BAD))}


@pytest.mark.parametrize("target", ["no such module", "fake_one:missing", "fake_none", ""])
def test_a_bad_target_of_an_entry_point_is_named(install: Install, load_one: LoadOne, target: str) -> None:
    install("fake-one", entry_points=f"[rbench]\nplugin = {target}\n")
    assert load_one("fake-one").status == "broken"


def test_ctrl_c_during_an_import_is_not_swallowed(install: Install, load_one: LoadOne) -> None:
    install("fake-one", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_one("fake-one")


def test_a_plugin_that_failed_is_tried_again(install: Install, load_one: LoadOne) -> None:
    site = install("fake-one", "import no_such_library_yet")
    assert load_one("fake-one").status == "broken"
    (site / "no_such_library_yet.py").write_text(HEAD + "@hookimpl\ndef rbench_agents():\n    yield agent()")
    (site / "fake_one.py").write_text("from no_such_library_yet import rbench_agents  # now it is there")
    assert load_one("fake-one").status == "ok"


def test_what_a_plugin_prints_goes_to_stderr(
    install: Install, load_one: LoadOne, capfd: pytest.CaptureFixture[str]
) -> None:
    install(
        "fake-loud",
        "import os, subprocess, sys\n"
        "print('by print')\n"
        "sys.__stdout__.write('by stream\\n')\n"
        "os.write(1, b'by descriptor\\n')\n"
        "subprocess.run([sys.executable, '-c', 'print(\"by child\")'])\n"
        + HEAD
        + "@hookimpl\ndef rbench_agents():\n    print('by hook')\n    yield agent()",
    )
    assert load_one("fake-loud").status == "ok"
    print("result")
    out, err = capfd.readouterr()
    assert out == "result\n"
    assert [way for way in ("print", "stream", "descriptor", "child", "hook") if f"by {way}\n" not in err] == []


def test_stdout_is_restored_after_a_plugin_that_fails(
    install: Install, load_one: LoadOne, capfd: pytest.CaptureFixture[str]
) -> None:
    install("fake-one", "print('loud'); raise SystemExit(3)")
    before = sys.stdout
    load_one("fake-one")
    assert sys.stdout is before
    print("result", flush=True)
    assert capfd.readouterr().out == "result\n"


def test_a_slow_import_is_named(
    install: Install, load_one: LoadOne, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(loading, "SLOW_IMPORT", 0.01)
    install("fake-slow", "import time; time.sleep(0.03)")
    with caplog.at_level(logging.WARNING):
        load_one("fake-slow")
    assert "fake-slow" in caplog.text


def test_an_incompatible_plugin_is_not_imported(install: Install) -> None:
    install("fake-one", "raise SystemExit", requires=["rbench>=99"])
    (row,) = [row for row in build_catalog({}).rows() if row["distribution"] == "fake-one"]
    assert row["status"] == "incompatible"
    assert "fake_one" not in sys.modules


def test_a_blocked_plugin_is_not_imported(install: Install) -> None:
    install("fake-one", "raise SystemExit")
    (row,) = [row for row in build_catalog({"RBENCH_PLUGINS": ""}).rows() if row["distribution"] == "fake-one"]
    assert row["status"] == "blocked"
    assert "fake_one" not in sys.modules


def test_a_plugin_may_be_an_object_and_not_a_module(install: Install, load_one: LoadOne) -> None:
    source = (
        HEAD + "class Hooks:\n    @hookimpl\n    def rbench_agents(self):\n        return [agent()]\nhooks = Hooks()"
    )
    install("fake-one", source, entry_points="[rbench]\nplugin = fake_one:hooks\n")
    assert [record.name for record in load_one("fake-one").contributions] == ["fine"]


def test_the_same_name_in_two_kinds_is_fine(install: Install, load_one: LoadOne) -> None:
    install(
        "fake-one",
        HEAD + "@hookimpl\ndef rbench_agents():\n    yield agent('x')\n"
        "@hookimpl\ndef rbench_metrics():\n    yield MetricContribution(name='x', summary='b', target='c:d')",
    )
    assert [(record.kind, record.name) for record in load_one("fake-one").contributions] == [
        ("agent", "x"),
        ("metric", "x"),
    ]


def test_every_hook_has_its_kind_of_record() -> None:
    from rbench import hookspecs

    assert set(HOOKS) == {name for name in vars(hookspecs) if name.startswith("rbench_")}
