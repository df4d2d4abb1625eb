"""The core action of an instruction: its words without its objects, by a small grammar of English commands.

An object is mentioned by a determiner and a noun phrase; the receiver is the one after a preposition of place. What
the grammar does not take (other languages, three objects, none) gets a fixed template.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

#: Prepositions after which stands what receives the object.
PLACING = ("into", "inside", "in", "within", "onto", "on", "upon", "atop", "to")
_DETERMINERS = {"the", "a", "an", "this", "that"}
_JOINING = ("and", "or", "then", "so", "until", "which", "it", "its", "of", "from", "with", "by", "for")
_VERBS = (
    "should",
    "must",
    "shall",
    "will",
    "can",
    "has",
    "have",
    "needs",
    "is",
    "are",
    "be",
    "goes",
    "belongs",
    "ends",
)
_PLACES = (
    "at",
    "near",
    "next",
    "beside",
    "behind",
    "before",
    "under",
    "over",
    "above",
    "below",
    "between",
    "up",
    "down",
)
#: Words that end a noun phrase, and the most words that one has.
_ENDS = {*PLACING, *_DETERMINERS, *_JOINING, *_VERBS, *_PLACES}
_LONGEST = 4
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")


@dataclass(frozen=True)
class Mention:
    """An object in an instruction: where (with its determiner), its words, and the preposition of place before it."""

    start: int
    end: int
    words: tuple[str, ...]
    preposition: str | None

    @property
    def noun(self) -> str:
        """The last word of the phrase."""
        return self.words[-1]


@dataclass(frozen=True)
class Action:
    """An instruction with slots.

    Attributes:
        text: the instruction.
        object: the slot of what is moved. receiver: of what receives it.
    """

    text: str
    object: Mention
    receiver: Mention | None = None

    def told(self, item: str, receiver: str | None) -> str:
        """The instruction with other phrases in its slots."""
        slots = [(self.object, item)]
        if self.receiver is not None and receiver is not None:
            slots.append((self.receiver, receiver))
        text = self.text
        for slot, phrase in sorted(slots, key=lambda s: -s[0].start):
            phrase = phrase[:1].upper() + phrase[1:] if text[slot.start].isupper() else phrase
            text = text[: slot.start] + phrase + text[slot.end :]
        return text


def core_action(instruction: str) -> Action | None:
    """The instruction with slots, or None when it is not of the kind that the grammar knows.

    It knows one object, or one and its receiver, in any order: "Put the geometry into the box.", "Pick up the object
    and place it in the box.", "The geometry should end up inside the box.", "Stack the cube."
    """
    mentions = tuple(_mentions(instruction))
    objects = [m for m in mentions if m.preposition is None]
    receivers = [m for m in mentions if m.preposition is not None]
    if len(objects) != 1 or len(receivers) > 1:
        return None
    return Action(instruction, objects[0], receivers[0] if receivers else None)


def receiver_noun(instruction: str) -> str | None:
    """The noun of the last receiver that an instruction mentions, or None."""
    return next((m.noun for m in reversed(tuple(_mentions(instruction))) if m.preposition is not None), None)


def told_by_template(instruction: str, item: str, receiver: str | None, hollow: bool) -> str:
    """A fixed sentence, with the preposition of the instruction where it has one.

    Args:
        hollow: the receiver is hollow: without a preposition, things go into it and not on it.
    """
    if receiver is None:
        return f"Pick up {item}."
    words = (match[0].lower() for match in _WORD.finditer(instruction))
    preposition = next((word for word in words if word in PLACING), "into" if hollow else "on")
    return f"Put {item} {preposition} {receiver}."


def _mentions(text: str) -> Iterator[Mention]:
    words = list(_WORD.finditer(text))
    place = 0
    while place < len(words):
        if words[place][0].lower() not in _DETERMINERS:
            place += 1
            continue
        first = end = place + 1
        while end < len(words) and end - first < _LONGEST and _goes_on(text, words[end - 1], words[end]):
            end += 1
        if end > first:
            before = words[place - 1][0].lower() if place else ""
            yield Mention(
                words[place].start(),
                words[end - 1].end(),
                tuple(word[0] for word in words[first:end]),
                before if before in PLACING else None,
            )
        place = end


def _goes_on(text: str, last: re.Match[str], word: re.Match[str]) -> bool:
    return text[last.end() : word.start()].isspace() and word[0].lower() not in _ENDS
