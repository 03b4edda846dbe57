"""Who makes a change of a job, and why: as its history tells it."""

from __future__ import annotations

from typing import Final, NamedTuple

ENGINE: Final = "matins"
"""The author of what the engine does by itself: no token may have this name."""


class Author(NamedTuple):
    """The name of the token by which a change was made, and the reason that was given for it.

    Without a name it is not known who it was.
    """

    name: str = ""
    reason: str = ""


NOBODY: Final = Author()
