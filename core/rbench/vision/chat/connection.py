"""One request over the official client, with its key: what comes back is cleared of secrets before anything sees it.

The client's own retries are off (`rbench.vision.chat.model` decides), and so is its log, which would show the query of
an address.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from rbench.errors import StartError
from rbench.secret_names import is_secret
from rbench.vision.chat.failures import Failure, failure_of, json_or_none
from rbench.vision.chat.options import OPENAI, Options
from rbench.vision.chat.replies import Completion, completion_of
from rbench.vision.redaction import Redactor

#: Bytes of a response that are read: a reply of any model is far smaller.
_LARGEST = 8 << 20
#: Seconds for a connection to be made: a server that is there takes far less.
_CONNECT = 15.0


class _NoSuccess(Exception):
    """A response with another status than success, and as much of its body as is looked at."""

    def __init__(self, status: int, text: str, headers: Mapping[str, str]) -> None:
        self.status, self.text, self.headers = status, text, headers


class Connection:
    """An endpoint and the right to ask it."""

    def __init__(self, options: Options) -> None:
        """Read the key from its variable and make the client. Sends nothing.

        Raises:
            StartError: a variable that is needed is not set, or holds what no header can.
        """
        # Here and not above: listing plugins does not need the client, which is an optional library.
        import openai

        self._openai = openai
        for name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
            logging.getLogger(name).setLevel(logging.WARNING)
        parts = urlsplit(options.base_url)
        self._timeout = options.timeout
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        key = _key(options)
        headers = {name: _header(variable) for name, variable in options.headers_env.items()}
        # Of its own accord the client sends headers that it finds in this variable.
        others = [line.partition(":")[2].strip() for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").splitlines()]
        inside = _secrets_in(options.extra_body)
        self.redactor = Redactor([*([key] if key else []), *headers.values(), *query.values(), *others, *inside])
        #: Without the query, which may hold a key.
        self.address = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
        self.without_key = key is None
        self._per_request: dict[str, Any] = {}
        if key is None and not any(name.lower() == "authorization" for name in headers):
            self._per_request["extra_headers"] = {"Authorization": openai.Omit()}
        loopback = _is_loopback(parts.hostname or "")
        self._client = openai.OpenAI(
            api_key=key or "none",
            base_url=self.address,
            max_retries=0,
            timeout=openai.Timeout(options.timeout, connect=min(options.timeout, _CONNECT)),
            default_query=query,
            default_headers=headers,
            # Redirects would carry the headers to whoever the server names. A proxy has no way to this machine itself.
            http_client=openai.DefaultHttpxClient(
                follow_redirects=False, trust_env=not loopback, event_hooks={"response": [self._read_no_success]}
            ),
        )
        # The client has taken these from variables of its own; what is sent is in the options.
        self._client.organization = self._client.project = None

    def post(self, body: dict[str, Any]) -> Completion | Failure:
        """Ask once, in no more than the time limit.

        In a thread of its own, which is left behind when it takes longer: the client has limits for every wait, but a
        name that is looked up for ever, and headers that come drop by drop, pass them.
        """
        results: SimpleQueue[Completion | Failure | BaseException] = SimpleQueue()

        def ask() -> None:
            try:
                results.put(self._post(body))
            except BaseException as problem:
                results.put(problem)

        threading.Thread(target=ask, name="rbench-asking", daemon=True).start()
        try:
            result = results.get(timeout=self._timeout)
        except Empty:
            return self._timed_out()
        if isinstance(result, BaseException):
            raise result
        return result

    def _post(self, body: dict[str, Any]) -> Completion | Failure:
        openai = self._openai
        try:
            completions: Any = self._client.chat.completions.with_streaming_response
            with completions.create(**body, **self._per_request) as response:
                return self._understood(response.status_code, self._read(response), dict(response.headers))
        except _NoSuccess as found:
            return self._understood(found.status, found.text, found.headers)
        except (openai.APITimeoutError, TimeoutError):
            return self._timed_out()
        except (openai.OpenAIError, OSError) as problem:
            # Some releases of the client wrap what comes out of the hook.
            cause = problem.__cause__
            if isinstance(cause, _NoSuccess):
                return self._understood(cause.status, cause.text, cause.headers)
            if isinstance(cause, TimeoutError):
                return self._timed_out()
            return Failure(None, "connection", self._connection_problem(problem))
        except Exception as problem:
            # A connection that breaks while the body is read: the client passes its library's errors through.
            if not type(problem).__module__.startswith(("httpx", "httpcore")):
                raise
            if "Timeout" in type(problem).__name__:
                return self._timed_out()
            return Failure(None, "connection", self._connection_problem(problem))

    def close(self) -> None:
        """Close what is open."""
        self._client.close()

    def _timed_out(self) -> Failure:
        return Failure(None, "timeout", f"no whole reply within {self._timeout:g} s")

    def _read_no_success(self, response: Any) -> None:
        """Called by the HTTP library before it hands a response on: the client would read all of such a body."""
        if not 200 <= response.status_code < 300:
            raise _NoSuccess(response.status_code, self._read(response), dict(response.headers))

    def _read(self, response: Any) -> str:
        """The body, which may come drop by drop and have no end."""
        deadline = time.monotonic() + self._timeout
        data = bytearray()
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) > _LARGEST:
                break
            if time.monotonic() > deadline:
                raise TimeoutError
        return data.decode("utf-8", "replace")

    def _understood(self, status: int, text: str, headers: Mapping[str, str]) -> Completion | Failure:
        body = self.redactor.clear_plain(json_or_none(text))
        broken = isinstance(body, dict) and bool(body.get("error"))
        if 200 <= status < 300 and not broken:
            completion = completion_of(body)
            if completion is not None:
                return completion
            shown = self.redactor.clear(text)[:120]
            return Failure(502, "no_completion", f"a body that is no chat completion: {shown!r}")
        failure = failure_of(status, body, text, {name.lower(): value for name, value in headers.items()})
        return Failure(
            failure.status,
            failure.code,
            self.redactor.clear(failure.message),
            failure.parameter,
            failure.retry_after,
        )

    def _connection_problem(self, problem: BaseException) -> str:
        cause = problem.__cause__ or problem
        return self.redactor.clear(" ".join(f"{type(cause).__name__}: {cause}".split()))


def _key(options: Options) -> str | None:
    """The key, or None for a server of the user's own that needs none."""
    variable = options.api_key_env
    value = os.environ.get(variable, "").strip()
    if value:
        return _printable(value, variable)
    own_server = options.base_url != OPENAI
    if own_server and "api_key_env" not in options.model_fields_set:
        return None
    raise StartError(
        f"vision model 'openai': the environment variable {variable} is not set; put the key into it, or name another"
        " variable with -v api_key_env=NAME"
    )


def _header(variable: str) -> str:
    value = os.environ.get(variable, "").strip()
    if not value:
        raise StartError(
            f"vision model 'openai': the environment variable {variable}, named in headers_env, is not set; set it"
        )
    return _printable(value, variable)


def _printable(value: str, variable: str) -> str:
    # Refused here: the errors of HTTP libraries show the whole header.
    if not (value.isascii() and value.isprintable()):
        raise StartError(
            f"vision model 'openai': the environment variable {variable} holds characters that no key has (line breaks,"
            " or letters outside ASCII); set it again"
        )
    return value


def _secrets_in(value: Any, secret: bool = False) -> Iterator[str]:
    """The texts in further fields of a request whose names say that they are secrets."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _secrets_in(item, secret or is_secret(str(name), item))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _secrets_in(item, secret)
    elif secret and isinstance(value, str):
        yield value


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
