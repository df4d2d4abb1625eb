"""Render profiles: how pictures are made. A suite names one, and its values are part of the suite's hash."""

from __future__ import annotations

from dataclasses import dataclass

from rbench.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class RenderProfile:
    """How pictures are made; lights belong to the scene description.

    Attributes:
        shadow_size: side of the shadow maps in texels; 0 draws no shadows.
        shadow_reach: a directional light casts shadows within this distance (m) of the line it shines along.
        multisamples: samples a pixel for smooth edges; 0 for none. Software GL gives at most 4.
        max_size: largest image height and width in pixels.
    """

    name: str
    shadow_size: int
    multisamples: int
    shadow_reach: float = 1.0
    max_size: int = 2048


#: `standard` has shadows because the paper reports that they matter (section 6.5); `fast` is many times cheaper. A map
#: of 2048 texels is hardly finer to see at 256 pixels and costs 15 ms more a frame on a CPU; with a shorter reach,
#: surfaces that face the light get dark specks.
_PROFILES = (
    RenderProfile("standard", shadow_size=1024, multisamples=4),
    RenderProfile("fast", shadow_size=0, multisamples=0),
)


def render_profile(name: str) -> RenderProfile:
    """The render profile of that name.

    Raises:
        UsageError: there is no such profile.
    """
    for profile in _PROFILES:
        if profile.name == name:
            return profile
    hint = did_you_mean(name, (p.name for p in _PROFILES))
    raise UsageError(f"render profile {name!r} is unknown.{hint} Set `render` in the suite to one of these.")
