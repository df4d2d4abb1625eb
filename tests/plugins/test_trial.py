from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rbench.errors import PluginError, UsageError
from rbench.plugins.trial import trial_entry

SOURCE = """
import pydantic

class Plain:
    def __init__(self, options, context):
        self.made_with = (options, context)

class WithOptions(Plain):
    class Options(pydantic.BaseModel, extra="forbid"):
        speed: float = 0.2

    def later(self):
        import fake_trial_neighbour
        return fake_trial_neighbour.value
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "fake_trial.py").write_text(SOURCE)
    (tmp_path / "fake_trial_neighbour.py").write_text("value = 7")
    (tmp_path / "fake_trial_broken.py").write_text("1 / 0")
    (tmp_path / "fake_trial_lacks.py").write_text("import no_such_library")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_class_of_the_working_directory_is_an_entry(folder: Path) -> None:
    entry = trial_entry("agent", "fake_trial:Plain")
    assert (entry.kind, entry.name, entry.qualified) == ("agent", "fake_trial:Plain", "fake_trial:Plain")
    assert (entry.distribution, entry.folder) == ("(unpackaged)", str(folder))
    assert entry.load()(None, "context").made_with == (None, "context")


def test_the_folder_may_be_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert trial_entry("agent", "fake_trial:Plain", folder).folder == str(folder)


def test_modules_beside_it_can_be_imported_later(folder: Path) -> None:
    cls = trial_entry("agent", "fake_trial:WithOptions").load()
    assert cls(None, None).later() == 7


def test_the_folder_hides_no_installed_module_afterwards(folder: Path) -> None:
    trial_entry("agent", "fake_trial:Plain")
    assert sys.path[-1] == str(folder)
    assert sys.path.count(str(folder)) == 1


def test_a_class_attribute_named_options_is_its_option_model(folder: Path) -> None:
    entry = trial_entry("agent", "fake_trial:WithOptions")
    assert entry.resolve_options({"speed": 1}).speed == 1.0  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="Did you mean 'speed'"):
        entry.resolve_options({"sped": 1})


def test_without_it_options_are_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="takes no options"):
        trial_entry("agent", "fake_trial:Plain").resolve_options({"speed": 1})


@pytest.mark.parametrize("target", ["fake_trial", "fake_trial:", ":Plain", "fake_trial.py:Plain!", "a/b:C", ""])
def test_another_form_is_refused(folder: Path, target: str) -> None:
    with pytest.raises(UsageError, match="give module:attribute"):
        trial_entry("agent", target)


def test_a_missing_module_names_the_folder(folder: Path) -> None:
    with pytest.raises(UsageError, match=f"no module 'fake_nothing' in {folder}"):
        trial_entry("agent", "fake_nothing:Plain")


def test_a_missing_attribute_names_near_ones(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"has no 'Plane'\. Did you mean 'Plain'"):
        trial_entry("agent", "fake_trial:Plane")


def test_a_module_that_raises_is_named_with_the_reason(folder: Path) -> None:
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        trial_entry("agent", "fake_trial_broken:Plain")


def test_a_module_that_lacks_a_library_says_which(folder: Path) -> None:
    with pytest.raises(PluginError, match="pip install no_such_library"):
        trial_entry("agent", "fake_trial_lacks:Plain")


def test_it_works_in_a_fresh_process_elsewhere(folder: Path) -> None:
    code = (
        "import json, sys\nfrom rbench.plugins.trial import trial_entry\n"
        "cls = trial_entry('agent', *json.loads(sys.argv[1])).load()\nprint(cls(None, None).later())"
    )
    given = json.dumps(["fake_trial:WithOptions", str(folder)])
    done = subprocess.run(
        [sys.executable, "-c", code, given], capture_output=True, text=True, cwd="/", env=dict(os.environ), timeout=60
    )
    assert (done.stdout, done.stderr) == ("7\n", "")
