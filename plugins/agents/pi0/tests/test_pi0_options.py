"""Options of `pi0` that do not fit together, refused before anything is made."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog, build_catalog
from rbench_agent_pi0.doctor import examine


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return build_catalog()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": 9000}, "port: of a policy server, and none is named; add host"),
        ({"timeout": 5, "action_space": "joint_velocity"}, "action_space, timeout: of a policy server"),
        ({"host": "h", "weights": "hue"}, "leave one of them out"),
        ({"exterior": "wrist"}, "exterior and wrist are both 'wrist'"),
    ],
)
def test_what_means_nothing_together_is_refused(catalog: Catalog, options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        catalog.get("agent", "pi0").resolve_options(options)


def test_a_server_is_named_with_what_belongs_to_it(catalog: Catalog) -> None:
    given = {"host": "h", "port": 9000, "timeout": 5.0, "action_space": "joint_velocity"}
    found = catalog.get("agent", "pi0").resolve_options(given)
    assert found is not None
    assert {name: getattr(found, name) for name in given} == given


def test_the_path_of_weights_is_made_absolute_and_the_name_of_shipped_ones_is_not(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    entry = catalog.get("agent", "pi0")
    assert entry.located_options({"weights": "mine.safetensors"}) == (
        {"weights": str(tmp_path / "mine.safetensors")},
        ("weights",),
    )
    assert entry.located_options({"weights": "plain", "port": 1}) == ({"weights": "plain", "port": 1}, ())


def test_the_doctor_says_what_the_embedded_policy_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: Callable[..., Any] = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name in ("torch", "safetensors"):
            raise ImportError(f"No module named {name!r}")
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    (check,) = examine({})
    assert (check.status, check.remedy) == ("ok", None)
    assert "python3 -m pip install torch safetensors" in check.detail
