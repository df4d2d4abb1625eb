"""Provenance: versions, the machine, and no secrets."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.results.provenance import REDACTED, host, redacted, versions


def test_versions_of_what_every_run_uses_and_of_the_named() -> None:
    found = versions(["rich", "no-such-distribution", "(unpackaged)", ""])
    assert list(found) == ["python", "rbench", "numpy", "mujoco", "rich"]
    assert found["python"] == platform.python_version()
    assert found["rbench"].startswith("0.1.0")


@pytest.fixture
def working_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], Path]:
    """A distribution `my-agent` whose metadata says where it was installed from."""

    def install(direct_url: dict[str, Any]) -> Path:
        info = tmp_path / "site" / "my_agent-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-agent\nVersion: 1.2\n")
        (info / "direct_url.json").write_text(json.dumps(direct_url))
        monkeypatch.syspath_prepend(tmp_path / "site")
        return tmp_path / "clone"

    return install


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_working_copy_has_its_commit_and_whether_it_was_changed(
    tmp_path: Path, working_copy: Callable[[dict[str, Any]], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GIT_DIR", raising=False)  # set for the whole session once end-to-end tests have run
    clone = working_copy({"url": (tmp_path / "clone").as_uri(), "dir_info": {"editable": True}})
    clone.mkdir()
    git(clone, "init", "-q")
    (clone / "agent.py").write_text("1\n")
    git(clone, "add", "agent.py")
    git(clone, "commit", "-q", "-m", "first")
    commit = git(clone, "rev-parse", "HEAD")
    assert versions(["my-agent"])["my-agent"] == f"1.2+g{commit[:12]}"
    (clone / "notes.txt").touch()
    assert versions(["my-agent"])["my-agent"] == f"1.2+g{commit[:12]}"
    (clone / "agent.py").write_text("2\n")
    assert versions(["my-agent"])["my-agent"] == f"1.2+g{commit[:12]}.dirty"


@pytest.mark.parametrize(
    "direct_url",
    [
        {"url": "file:///nowhere/at/all", "dir_info": {"editable": True}},
        {"url": "https://example.org/my-agent.whl", "archive_info": {}},
        {"dir_info": {"editable": True}},
        {"url": "file:///nowhere", "dir_info": None},
        [],
    ],
)
def test_a_commit_that_cannot_be_had_is_no_error(
    working_copy: Callable[[Any], Path], direct_url: dict[str, Any]
) -> None:
    working_copy(direct_url)
    assert versions(["my-agent"])["my-agent"] == "1.2"


def test_host_facts_hold_neither_names_nor_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_VARIABLE", "some-value-of-it")
    facts = host()
    assert set(facts) == {"platform", "machine", "cores", "python"}
    assert facts["cores"] >= 1
    text = json.dumps(facts)
    assert "some-value-of-it" not in text
    assert str(Path.home()) not in text or str(Path.home()) == "/"
    assert os.environ.get("HOSTNAME", "no host name") not in text


@pytest.mark.parametrize(
    "key",
    [
        "key",
        "api_key",
        "apiKey",
        "api-key",
        "OPENAI_API_KEY",
        "x-api-key",
        "apikey",
        "token",
        "hf_token",
        "accessToken",
        "password",
        "db_password",
        "client_secret",
        "Authorization",
        "authorization_header",
        "credentials",
    ],
)
def test_values_of_secret_keys_never_leave(key: str) -> None:
    assert redacted({key: "s3cret"}) == {key: REDACTED}
    assert redacted({"headers": [{key: ["s3cret"]}]}) == {"headers": [{key: REDACTED}]}
    assert redacted({key: 12345}) == {key: REDACTED}


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 512},
        {"token_limit": 512},
        {"keypoints": 4},
        {"key_points": [1, 2]},
        {"tokenizer": "byte"},
        {"monkey": "see"},
        {"api_key": None},
        {"use_token": True},
        {"api_key_env": "OPENAI_API_KEY"},
        {"model": "some/model-7b", "temperature": 0.2, "nested": {"list": [1, "a", None]}},
        {"url": "http://localhost:8000/v1"},
        {"path": "/some/folder/file.pt"},
    ],
)
def test_what_is_no_secret_stays(options: dict[str, Any]) -> None:
    assert redacted(options) == options


def test_a_key_in_place_of_a_variable_name_is_a_secret() -> None:
    assert redacted({"api_key_env": "sk-abc123"}) == {"api_key_env": REDACTED}


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("http://user:pw@host:8000/v1", f"http://{REDACTED}@host:8000/v1"),
        ("https://host/v1?key=abc&x=1", f"https://host/v1?{REDACTED}"),
        ("ws://tok@host/?a=b#part", f"ws://{REDACTED}@host/?{REDACTED}#part"),
        ("see https://u:p@host/ for more", f"see https://{REDACTED}@host/ for more"),
        ("https://[broken/?key=1", REDACTED),
    ],
)
def test_urls_lose_user_password_and_query(url: str, safe: str) -> None:
    assert redacted({"endpoint": url}) == {"endpoint": safe}


def test_options_given_are_not_changed() -> None:
    options = {"nested": {"api_key": "s"}}
    redacted(options)
    assert options == {"nested": {"api_key": "s"}}
