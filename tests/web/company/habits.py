"""How the company's jobs have been doing, job by job."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from tests.web.company.shops import PROGRAM

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


class Habit(NamedTuple):
    """How the runs of a job go.

    They take `length_s`, give or take a fifth, and more by `growth` each day; `dead` and `retried`
    are shares of a thousand. Nothing has succeeded for as long as it is `broken`. `output` is what
    it prints before it is done, `error` instead of that. Its last runs are `known`, so many.
    """

    length_s: float = 8.0
    growth: float = 0.0
    dead: float = 1.0
    retried: float = 10.0
    broken: timedelta | None = None
    error: str = "connection reset by peer"
    output: str = ""
    known: int = 3_000


USUAL = Habit()
SHOP = Habit(1.4, dead=0.05, retried=6, error="till 2 does not answer", output="3 tills", known=400)

HABITS = {
    "nightly-settlement": Habit(
        1_260, 0.004, 0, 90, output="acquirer: worldline\n18,402 transactions, EUR 1,204,113.20"
    ),
    "reconcile-ledger": Habit(410, dead=40, error="ledger differs by EUR 113.20 in 1 account"),
    "settlement-report": Habit(14),
    "settle-instant": Habit(11, retried=25),
    "fx-rates": Habit(3.1, retried=30, error="ecb: 502 Bad Gateway"),
    "card-stream-compaction": Habit(51, output="64 partitions of card-events, 190 segments merged"),
    "retry-payouts": Habit(6, broken=3 * HOUR, error="KeyError: 'mandate_reference'"),
    "dunning-mails": Habit(95),
    "close-of-month": Habit(4_800),
    "load-orders": Habit(74, output="orders: 184,203 rows read, 184,203 written"),
    "load-clicks": Habit(212, 0.012, output="clicks: 2,841,007 rows read, 2,841,007 written"),
    "load-stock": Habit(33),
    "build-marts": Habit(
        418,
        0.01,
        22,
        error="ERROR: division by zero in model marts.margin",
        output="PASS=5 ERROR=0",
    ),
    "refresh-dashboards": Habit(41),
    "export-finance": Habit(66),
    "warehouse-snapshot": Habit(2_700, 0.008),
    "train-demand-forecast": Habit(5_400, 0.02, 30, error="CUDA error: out of memory"),
    "score-leads": Habit(96),
    "sync-crm": Habit(5, dead=45, retried=320, error="503 Service Unavailable"),
    "forget-consents": Habit(240),
    "backup-postgres": Habit(
        4_100, 0.015, 0, 0, broken=DAY, error="repository is full: no space left on device"
    ),
    "verify-backup": Habit(1_500),
    "check-dns": Habit(0.8, dead=0.4, retried=6, error="SERVFAIL for acme.example"),
    "probe-endpoints": Habit(2.4, dead=2, retried=20, error="checkout: 3 of 20 probes timed out"),
    "ship-logs": Habit(
        19, broken=31 * HOUR, error="AccessDenied: PutObject on acme-logs/2026", output="14 files"
    ),
    "stock-sync": Habit(17, dead=3, retried=15, error="warehouse poznan does not answer"),
    "pick-lists": Habit(9),
    "carrier-labels": Habit(22, dead=4, retried=60, error="429 Too Many Requests from the carrier"),
    "route-plan": Habit(2_100, 0.006),
}
"""What is not usual."""


def habit_of(job: str) -> Habit:
    """Return how the runs of a job go."""
    return HABITS.get(job, SHOP if job.startswith(f"{PROGRAM}-") else USUAL)
