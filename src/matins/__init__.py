"""Matins: a distributed job scheduler, cron for a whole company.

    from matins import CommandTarget, JobSpec, Matins, Schedule, Target

The public names are those of `matins.public`, which is imported when the first of them is asked
for: the package itself costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matins.public import *  # noqa: F403

    __version__: str


def __getattr__(name: str) -> object:
    """Return the version, a public name, or the list of these, which is `__all__`."""
    if name == "__version__":
        return import_module("importlib.metadata").version("matins")
    public = import_module("matins.public")
    if name == "__all__" or name in public.__all__:
        return getattr(public, name)
    raise AttributeError(f"module 'matins' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List what is public."""
    return ["__version__", *import_module("matins.public").__all__]
