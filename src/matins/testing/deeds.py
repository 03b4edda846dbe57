"""What a simulated owner asks of an API."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from matins.owners.owners import Owners

Work = Callable[[Owners], Coroutine[Any, Any, Any]]
"""One deed, by the real use cases."""
