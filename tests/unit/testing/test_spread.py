"""How the tests are spread over processes: what shares something stays together."""

from __future__ import annotations

from tests.spread import in_order, piece_of

SHORT = "tests/unit/domain/test_ids.py::test_a[1]"
QUICK = "tests/e2e/cli/test_startup.py::test_b[x::y]"
RESTORE = "tests/e2e/test_restore.py::test_c"
SEED = "tests/sim/test_simulation.py::test_d[7]"


def test_a_module_is_one_piece_but_what_shares_nothing_goes_alone() -> None:
    assert piece_of(SHORT) == "tests/unit/domain/test_ids.py"
    assert piece_of(SEED) == "tests/sim/test_simulation.py"
    assert piece_of(QUICK) == QUICK


def test_the_longest_begin_and_what_waits_takes_turns_with_what_computes() -> None:
    tests = [QUICK, SHORT, RESTORE, SEED]
    places = in_order(tests)
    assert places == in_order(reversed(tests))
    in_turn = sorted(places, key=places.__getitem__)
    assert in_turn == [piece_of(SEED), RESTORE, piece_of(SHORT), QUICK]
