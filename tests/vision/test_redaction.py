"""Keys and the forms in which they could come back."""

from __future__ import annotations

import base64
import html
import json
from urllib.parse import quote

import pytest

from rbench.vision.redaction import REDACTED, Redactor

KEY = 'sk-canary-7Q+/&"é'

FORMS = {
    "as it is": KEY,
    "percent-encoded": quote(KEY, safe=""),
    "percent-encoded in small letters": quote(KEY, safe="").lower().replace("sk-canary-7q", "sk-canary-7Q"),
    "every byte percent-encoded": "".join(f"%{b:02x}" for b in KEY.encode()),
    "base64": base64.b64encode(KEY.encode()).decode(),
    "base64 of a user and the key": base64.b64encode(f"user:{KEY}".encode()).decode(),
    "base64 behind two letters": base64.b64encode(f"ab{KEY} and more".encode()).decode(),
    "url-safe base64": base64.urlsafe_b64encode(f"x{KEY}".encode()).decode(),
    "hexadecimal": KEY.encode().hex(),
    "JSON": json.dumps(KEY),
    "HTML": html.escape(KEY),
    "every letter a JSON escape": "".join(f"\\u{ord(c):04x}" for c in KEY),
    "some letters a JSON escape": KEY.replace("s", "\\u0073").replace("k", "\\u006B"),
    "with invisible characters": KEY.replace("can", "c\u200ba\\u200Bn\u00ad"),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_key_is_taken_out_in_every_form(name: str) -> None:
    cleared = Redactor([KEY]).clear(f"wrong key {FORMS[name]} given")
    assert REDACTED in cleared
    assert cleared.startswith("wrong key ")
    assert cleared.endswith(" given")
    assert "canary" not in cleared
    assert FORMS[name].strip('"') not in cleared


def test_other_text_stays_as_it_is() -> None:
    text = "The cube is red. " + base64.b64encode(b"something else entirely").decode()
    assert Redactor([KEY]).clear(text) == text


def test_texts_too_short_to_be_secrets_garble_nothing() -> None:
    assert Redactor(["EMPTY", ""]).clear("the box is EMPTY") == "the box is EMPTY"


def test_plain_data_is_cleared_in_keys_and_values() -> None:
    assert Redactor(["sk-canary-7Q"]).clear_plain({"sk-canary-7Q": [{"a": "x sk-canary-7Q"}, 1, None]}) == {
        REDACTED: [{"a": f"x {REDACTED}"}, 1, None]
    }
