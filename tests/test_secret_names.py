"""Which names of options mean a secret."""

from __future__ import annotations

import pytest

from rbench.errors import UsageError
from rbench.plugins.options import checked_options
from rbench.secret_names import is_secret


@pytest.mark.parametrize(
    "name",
    ["key", "api_key", "apiKey", "api-key", "hf_token", "accessToken", "password", "db_password", "Authorization"],
)
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name, "abc")


@pytest.mark.parametrize("name", ["credentials", "credential", "client_secret", "passphrase"])
def test_other_words_for_secrets_are_known(name: str) -> None:
    assert is_secret(name, "abc")


@pytest.mark.parametrize("name", ["key_points", "token_limit", "monkey", "object", "", "_"])
def test_what_only_sounds_like_one_is_none(name: str) -> None:
    assert not is_secret(name, "abc")


def test_the_name_of_a_variable_a_count_and_a_flag_are_none() -> None:
    assert not is_secret("api_key_env", "OPENAI_API_KEY")
    assert is_secret("api_key_env", "sk-abcdef")
    assert not is_secret("max_tokens", 4096)
    assert not is_secret("use_key", True)


@pytest.mark.parametrize("name", ["api_key", "apiKey", "authorization"])
def test_a_wrong_option_that_is_a_secret_is_not_shown(name: str) -> None:
    from pydantic import ConfigDict, create_model

    model = create_model("Model", __config__=ConfigDict(extra="forbid"), **{name: (int, 0)})  # type: ignore[call-overload]
    with pytest.raises(UsageError) as caught:
        checked_options(model, {name: "sk-very-secret"}, "agent 'x'")
    assert "sk-very-secret" not in str(caught.value)
    assert "(hidden)" in str(caught.value)
