"""Questions of a served agent, answered by the vision model of the run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rbench.errors import NoAnswer, StartError, one_line
from rbench.interfaces.vision import Question, Reply, Usage, VisionModel
from rbench.plugins.discovery import find_plugins
from rbench.plugins.importing import import_target
from rbench.remote.agent_server import generator_from, generator_state
from rbench.values import from_plain

if TYPE_CHECKING:
    from pydantic import BaseModel


def question_message(question: Question, rng: np.random.Generator) -> dict[str, Any]:
    """A question, with the generator that comes with it; the answer model is named and not sent."""
    return {
        "want": "answer",
        "name": question.name,
        "prompt": question.prompt,
        "images": list(question.images),
        "model": f"{question.answer.__module__}:{question.answer.__qualname__}",
        "rng": generator_state(rng),
    }


def answered(message: Mapping[str, Any], vision: VisionModel) -> dict[str, Any]:
    """Let a vision model answer a question that was sent.

    Raises:
        ValueError: it is no question.
        StartError: its answer model is not installed here. What the vision model raises, but `NoAnswer`, is passed on.
    """
    try:
        name, prompt, images = str(message["name"]), str(message["prompt"]), tuple(message["images"])
        rng = generator_from(message["rng"])
        target = str(message["model"])
    except (KeyError, TypeError) as problem:
        raise ValueError(f"a question that cannot be read ({one_line(problem)})") from None
    if not all(isinstance(image, np.ndarray) for image in images):
        raise ValueError("a question with images that are none")
    question = Question(name, prompt, images, _answer_model(target, name))
    try:
        reply = vision.ask(question, rng)
    except NoAnswer as problem:
        told: dict[str, Any] = {"no_answer": str(problem), "kind": problem.kind, "raw": problem.raw}
        told |= {"repairs": list(problem.repairs), "usage": _usage_message(problem.usage)}
    else:
        told = {"answer": reply.value.model_dump(mode="json"), "raw": reply.raw}
        told |= {"repairs": list(reply.repairs), "usage": _usage_message(reply.usage)}
    return told | {"rng": generator_state(rng)}


def reply_of(message: Mapping[str, Any], question: Question, rng: np.random.Generator) -> Reply:
    """What came back for a question; the generator goes on where the vision model left it.

    Raises:
        NoAnswer: the model replied, but not with an answer.
    """
    rng.bit_generator.state = generator_from(message["rng"]).bit_generator.state
    repairs, raw = tuple(message["repairs"]), message["raw"]
    usage = None if message["usage"] is None else from_plain(Usage, message["usage"])
    if "no_answer" in message:
        raise NoAnswer(message["no_answer"], kind=message["kind"], raw=raw, repairs=repairs, usage=usage)
    value = question.answer.model_validate(message["answer"])
    return Reply(value, repairs, usage or Usage(), raw)


def _usage_message(usage: Usage | None) -> dict[str, Any] | None:
    return None if usage is None else asdict(usage)


def _answer_model(target: str, question: str) -> type[BaseModel]:
    """The answer model of that name; a server can have nothing imported but rbench and its installed plugins."""
    from pydantic import BaseModel

    module = target.partition(":")[0]
    packages = {"rbench", *(plugin.target.partition(":")[0].partition(".")[0] for plugin in find_plugins())}
    found: Any = None
    if module in sys.modules or module.partition(".")[0] in packages:
        try:
            found = import_target(target)
        except Exception:  # whatever an import raises
            found = None
    if isinstance(found, type) and issubclass(found, BaseModel):
        return found
    raise StartError(
        f"the served agent asks {question!r} with answer model {target!r}, which is not installed here. Install its"
        " plugin here too, or let the server ask a vision model of its own: `rbench serve-agent NAME --vision MODEL`"
    )
