"""How the tests are spread over the processes of pytest-xdist.

By whole modules, so that what the tests of a module share is made once. Those of the web page all
go to one process; only tests that share nothing and take long go one by one. (The groups of
pytest-xdist 3.8 do nothing with pytest 9.2, which keeps names in another place.)
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, zip_longest

from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

_ALONE = ("tests/e2e/", "tests/sim/test_planted_faults.py")
"""What shares nothing."""

_SHARING = ("tests/e2e/faults/test_status.py",)
"""What shares a cluster all the same."""

_TOGETHER = "tests/web/"
"""What shares a cluster and a browser."""

_WAITING = "tests/e2e/"
_LONGEST = (
    "tests/sim/",
    "tests/web/",
    "tests/e2e/test_restore.py",
    "tests/e2e/test_",
    "tests/e2e/faults/",
    "tests/e2e/failover/",
)
"""What begins first, in this order, or one process would have it left when all others are done."""


class Spread(LoadScopeScheduling):  # type: ignore[misc] # it has no types
    """Gives each process the next piece of work when it has little left."""

    def _split_scope(self, nodeid: str) -> str:
        return piece_of(nodeid)


def piece_of(test: str) -> str:
    """Return the name of the piece of work to which a test belongs."""
    if test.startswith(_TOGETHER):
        return _TOGETHER
    is_alone = test.startswith(_ALONE) and not test.startswith(_SHARING)
    return test if is_alone else test.partition("::")[0]


def in_order(tests: Iterable[str]) -> dict[str, int]:
    """Return the place of each piece: what waits and what computes take turns, the longest first.

    So whoever waits leaves the processors to others.
    """
    pieces = sorted(dict.fromkeys(map(piece_of, tests)), key=_rank)
    waiting = [piece for piece in pieces if piece.startswith(_WAITING)]
    computing = [piece for piece in pieces if not piece.startswith(_WAITING)]
    turns = filter(None, chain.from_iterable(zip_longest(computing, waiting)))
    return {piece: place for place, piece in enumerate(turns)}


def _rank(piece: str) -> int:
    return next((n for n, begin in enumerate(_LONGEST) if piece.startswith(begin)), len(_LONGEST))
