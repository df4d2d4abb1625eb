"""The page of a review on a port of this machine. Needs the extra `review` (starlette, uvicorn)."""

from __future__ import annotations

import functools
import json
import re
import socket
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any, TypeVar

import uvicorn
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from rbench.errors import RbenchError, StoppedEarly, UsageError
from rbench.reading import read_json
from rbench.review.desk import Desk, View
from rbench.review.guard import Application, Guard
from rbench.review.reviewers import reviewer_name

#: What a page may send at once; an answer has a few hundred bytes.
LARGEST = 16_384

_PAGE = {
    "": ("index.html", "text/html; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
}


_Model = TypeVar("_Model", bound=BaseModel)


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    reviewer: str
    view: View


class _Answered(_Body):
    number: int
    image_hash: str
    answer: str


def application(desk: Desk, token: str, host: str, reviewer: str | None) -> Application:
    """The web application.

    Args:
        host: address it is listened at. reviewer: who reads; None: the page asks.
    """
    endpoints = _Endpoints(desk, reviewer)
    routes = [
        *(Route(f"/{token}/{name}", _static(*place)) for name, place in _PAGE.items()),
        Route(f"/{token}/image/{{number}}", endpoints.image),
        Route(f"/{token}/api/start", _told(endpoints.start)),
        Route(f"/{token}/api/work", _told(endpoints.work)),
        Route(f"/{token}/api/summary", _told(endpoints.summary)),
        Route(f"/{token}/api/decide", _told(endpoints.decide), methods=["POST"]),
        Route(f"/{token}/api/undo", _told(endpoints.undo), methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _empty})
    app.router.redirect_slashes = False
    return Guard(app, token, host)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        OSError: the port is taken, or the address is not one of this machine.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(128)
    except OSError:
        listening.close()
        raise
    return listening


def serve(app: Application, listening: socket.socket) -> None:
    """Serve until interrupted; requests under way are finished.

    Raises:
        KeyboardInterrupt: Ctrl-C, or what the caller made of another signal.
    """
    # No log of requests: their addresses hold the token.
    config = uvicorn.Config(
        app, log_config=None, log_level="error", access_log=False, lifespan="off", ws="none", loop="asyncio",
        http="h11", server_header=False, timeout_graceful_shutdown=3, limit_concurrency=200,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])


class _Endpoints:
    def __init__(self, desk: Desk, reviewer: str | None) -> None:
        self._desk = desk
        self._reviewer = reviewer

    async def image(self, request: Request) -> Response:
        text, paths = request.path_params["number"], self._desk.questions.paths
        number = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else len(paths)
        if number >= len(paths) or not await run_in_threadpool(paths[number].is_file):
            raise HTTPException(404)
        kept = {"cache-control": "private, max-age=86400, immutable"}  # the address is of this server alone
        return FileResponse(paths[number], media_type="image/png", headers=kept)

    async def start(self, request: Request) -> dict[str, Any]:
        questions = self._desk.questions
        return {
            "suite": questions.suite,
            "iteration": questions.iteration,
            "conditions": questions.conditions,
            "pictures": len(questions.items) - len(questions.gone),
            "twice": len(questions.twice),
            "reviewer": self._reviewer,
            "reviewers": await run_in_threadpool(self._desk.reviewers),
        }

    async def work(self, request: Request) -> dict[str, Any]:
        view: View = "rule" if request.query_params.get("view") == "rule" else "read"
        reviewer = self._name(request.query_params.get("reviewer"))
        return await run_in_threadpool(self._desk.work, reviewer, view)

    async def summary(self, request: Request) -> dict[str, Any]:
        return await run_in_threadpool(self._desk.summary)

    async def decide(self, request: Request) -> dict[str, Any]:
        body = await _body(request, _Answered)
        return await run_in_threadpool(
            self._desk.decide, self._name(body.reviewer), body.view, body.number, body.image_hash, body.answer
        )

    async def undo(self, request: Request) -> dict[str, Any]:
        body = await _body(request, _Body)
        return await run_in_threadpool(self._desk.undo, self._name(body.reviewer), body.view)

    def _name(self, given: object) -> str:
        name = reviewer_name(given)
        if self._reviewer is not None and name != self._reviewer:
            raise UsageError("this page is for one reviewer; start `rbench review` without --reviewer for others")
        return name


def _static(name: str, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    content = files("rbench.review").joinpath("page", name).read_bytes()

    async def respond(request: Request) -> Response:
        return Response(content, media_type=media_type, headers={"cache-control": "no-store"})

    return respond


def _told(endpoint: Callable[[Request], Awaitable[dict[str, Any]]]) -> Callable[[Request], Awaitable[Response]]:
    """What an endpoint returns as JSON, and what it raises as `{"error": ...}` for the page to show."""

    @functools.wraps(endpoint)
    async def respond(request: Request) -> Response:
        try:
            return _json(await endpoint(request), 200)
        except RbenchError as problem:
            status = 507 if isinstance(problem, StoppedEarly) else 400 if isinstance(problem, UsageError) else 500
            return _json({"error": str(problem)}, status)

    return respond


def _json(value: Any, status: int) -> Response:
    text = json.dumps(value, allow_nan=False)
    return Response(text, status, media_type="application/json", headers={"cache-control": "no-store"})


async def _body(request: Request, model: type[_Model]) -> _Model:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415)  # a form of another site can send anything but this without being asked first
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST:
            raise HTTPException(413)
    try:
        return model.model_validate(read_json(data.decode("utf-8")))
    except (ValueError, ValidationError):
        raise UsageError("that request is not one of the page; load the page again") from None


async def _empty(request: Request, problem: Exception) -> Response:
    return Response(status_code=problem.status_code if isinstance(problem, HTTPException) else 500)
