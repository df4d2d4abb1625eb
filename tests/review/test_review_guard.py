"""The page on its port: served with the token in its address, and to nobody else."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from rbench.review.guard import Guard

PLACES = ["", "page.js", "page.css", "icon.svg", "image/0", "api/start", "api/work?reviewer=ann&view=read"]


@pytest.mark.parametrize("place", PLACES)
def test_with_the_token_in_the_address_everything_is_served(running: Any, place: str) -> None:
    reply = running.ask(place)
    assert reply.status == 200
    assert reply.body
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("place", ["", *PLACES, "favicon.ico", "static/page.js", "images/0000.png", "validation.json"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE"])
def test_without_the_token_nothing_is_served(running: Any, place: str, method: str) -> None:
    reply = running.ask(f"/{place}", method=method, with_token=False)
    assert (reply.status, reply.body, reply.headers["content-length"]) == (404, b"", "0")
    assert "content-type" not in reply.headers


@pytest.mark.parametrize("change", ["shorter", "longer", "last", "case", "twice", "encoded", "without slash", "space"])
def test_a_wrong_token_serves_nothing(running: Any, change: str) -> None:
    token = running.path.strip("/")
    wrong = {
        "shorter": token[:-1],
        "longer": token + "A",
        "last": token[:-1] + ("A" if token[-1] != "A" else "B"),
        "case": token.swapcase(),
        "twice": f"x/{token}",
        "encoded": f"%{ord(token[0]):02x}{token[1:]}",
        "without slash": token,
        "space": f"%20{token}",
    }[change]
    tail = "" if change == "without slash" else "/page.js"
    reply = running.ask(f"/{wrong}{tail}", with_token=False)
    assert (reply.status, reply.body) == (404, b"")


@pytest.mark.parametrize("header", ["Cookie", "Authorization", "X-Token", "Referer"])
def test_the_token_is_taken_from_no_header(running: Any, header: str) -> None:
    token = running.path.strip("/")
    value = {"Cookie": f"token={token}", "Authorization": f"Bearer {token}", "Referer": running.address}.get(
        header, token
    )
    for place in ("/", "/page.js", f"/?token={token}", "/api/start"):
        reply = running.ask(place, headers={header: value}, with_token=False)
        assert (reply.status, reply.body) == (404, b"")


@pytest.mark.parametrize(
    "place",
    [
        "../", "../validation.json", "..%2fvalidation.json", "%2e%2e/validation.json", "image/../../validation.json",
        "image/0/../../validation.json", "image/..%2f..%2fvalidation.json", "image//etc/passwd", "/etc/passwd",
        "image/-1", "image/99", "image/0.png", "image/%00", "images/0000.png", "page.py", "index.html", "..\\..\\x",
        "image/" + "9" * 5000,
    ],
)  # fmt: skip
def test_no_path_leads_to_another_file(running: Any, place: str) -> None:
    with socket.create_connection((running.host, running.port), timeout=60) as connection:
        request = (
            f"GET {running.path}{place} HTTP/1.1\r\nHost: {running.host}:{running.port}\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(request.encode())
        reply = b""
        while data := connection.recv(65536):
            reply += data
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.split()[1] == b"404"
    assert body == b""


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "", "[::"],
)
def test_a_name_that_others_lead_here_serves_nothing(running: Any, host: str) -> None:
    for place in PLACES:
        reply = running.ask(place, headers={"Host": host})
        assert (reply.status, reply.body) == (403, b"")


@pytest.mark.parametrize("host", ["localhost", "localhost:9000", "127.0.0.1:1", "[::1]:80", "LOCALHOST"])
def test_a_forwarded_port_of_this_machine_is_served(running: Any, host: str) -> None:
    assert running.ask("page.js", headers={"Host": host}).status == 200


UNDO = {"reviewer": "ann", "view": "read"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
        {"Origin": "http://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_another_site_can_post_nothing(running: Any, headers: dict[str, str]) -> None:
    reply = running.ask("api/undo", UNDO, headers)
    assert (reply.status, reply.body) == (403, b"")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_form_of_another_site_is_not_understood(running: Any, kind: str) -> None:
    reply = running.ask("api/undo", UNDO, {"Content-Type": kind})
    assert (reply.status, reply.body) == (415, b"")


@pytest.mark.parametrize("kind", ["image", "script", "fetch"])
def test_another_site_can_embed_nothing(running: Any, kind: str) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": kind}
    for place in ("image/0", "page.js", "api/start"):
        reply = running.ask(place, headers=headers)
        assert (reply.status, reply.body) == (403, b"")


def test_an_address_that_was_sent_to_a_reader_opens(running: Any) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert running.ask("", headers=headers).status == 200


def test_its_own_page_may_post(running: Any) -> None:
    headers = {"Origin": f"http://{running.host}:{running.port}", "Sec-Fetch-Site": "same-origin"}
    assert running.ask("api/undo", UNDO, headers).data["undone"] is False


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"[" * 9000, b'{"reviewer": "ann"}', b'{"reviewer": 1, "view": "read"}',
        b'{"reviewer": "ann", "view": "all"}', b'{"reviewer": "ann", "view": "read", "more": 1}',
        b'{"reviewer": "", "view": "read"}', b'{"reviewer": "\\ud800", "view": "read"}',
        b'{"reviewer": NaN, "view": "read"}',
    ],
)  # fmt: skip
def test_a_strange_request_is_an_error_that_says_so(running: Any, body: bytes) -> None:
    reply = running.ask("api/undo", body)
    assert reply.status == 400
    assert reply.data["error"]


def test_a_huge_request_is_cut_off(running: Any) -> None:
    reply = running.ask("api/undo", b" " * 40_000)
    assert (reply.status, reply.body) == (413, b"")


@pytest.mark.parametrize(("place", "method"), [("api/decide", "GET"), ("api/start", "POST"), ("", "DELETE")])
def test_a_wrong_method_is_refused_without_content(running: Any, place: str, method: str) -> None:
    reply = running.ask(place, method=method)
    assert (reply.status, reply.body) == (405, b"")


def test_a_request_that_is_not_http_brings_nothing_of_the_review(running: Any) -> None:
    with socket.create_connection((running.host, running.port), timeout=60) as connection:
        connection.sendall(b"hello\r\n\r\n")
        assert b"suite" not in connection.recv(65536)
    assert running.ask("api/start").status == 200


@pytest.mark.parametrize(
    ("listened", "header", "own"),
    [
        ("127.0.0.1", b"192.168.1.7:80", False),
        ("0.0.0.0", b"192.168.1.7:80", True),
        ("0.0.0.0", b"[fe80::1]:80", True),
        ("0.0.0.0", socket.gethostname().encode(), True),
        ("0.0.0.0", b"evil.example", False),
        ("lab.example", b"lab.example:8000", True),
    ],
)
def test_only_on_a_public_address_other_addresses_are_its_own(listened: str, header: bytes, own: bool) -> None:
    async def nothing(*_: Any) -> None:
        raise AssertionError

    assert Guard(nothing, "token", listened)._is_own_host(header) is own
