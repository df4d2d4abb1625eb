"""What the episodes of a run asked vision models, added up.

The database adds up by itself: `status` asks for this often, and reading the records takes three to ten times as long.
"""

from __future__ import annotations

from typing import Any

from rbench.results.store import EpisodeStore

#: A total is null as soon as one of the episodes that asked something does not know its part.
_TOTALS = """
SELECT count(*), sum(calls), sum(seconds),
    CASE WHEN count(tokens_in) = count(*) THEN sum(tokens_in) END,
    CASE WHEN count(tokens_out) = count(*) THEN sum(tokens_out) END,
    CASE WHEN count(cost) = count(*) THEN sum(cost) END
FROM (
    SELECT
        json_extract(record, '$.agent.vision.calls') AS calls,
        json_extract(record, '$.timing.vision') AS seconds,
        json_extract(record, '$.agent.vision.tokens_in') AS tokens_in,
        json_extract(record, '$.agent.vision.tokens_out') AS tokens_out,
        json_extract(record, '$.agent.vision.cost') AS cost
    FROM episodes WHERE position <= ? AND json_valid(record)
) WHERE calls > 0
"""

_MODELS = """
SELECT DISTINCT model.value FROM episodes, json_each(episodes.record, '$.agent.vision.models') AS model
WHERE position <= ? AND json_valid(record) ORDER BY model.value
"""


def vision_usage(store: EpisodeStore, through: int | None = None) -> dict[str, Any] | None:
    """Totals over the episodes that asked something, infrastructure errors included; None when none did.

    Keys: `episodes`, `calls`, `seconds` (waited for answers), `tokens_in`, `tokens_out`, `cost` (US dollars), and
    `models` as their servers call them.

    Args:
        through: a `last_position`; what was added after it is left out.

    Raises:
        StartError: the store cannot be read.
    """
    end = store.last_position() if through is None else through
    ((episodes, calls, seconds, tokens_in, tokens_out, cost),) = store.rows(_TOTALS, end)
    if not episodes:
        return None
    return {
        "episodes": episodes,
        "calls": calls,
        "seconds": seconds,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "cost": cost,
        "models": [str(model) for (model,) in store.rows(_MODELS, end)],
    }
