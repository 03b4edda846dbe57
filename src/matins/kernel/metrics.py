"""Every metric of Matins, by role; names and labels are bounded. Served at /metrics."""

from __future__ import annotations

from math import nan

from prometheus_client import REGISTRY, Counter, Gauge, Histogram, Info, generate_latest

from matins.domain.status.tallies import LAG_BOUNDS_S
from matins.kernel.histogram import BatchHistogram

CLAIMED = Counter("matins_claimed", "Runs claimed", ["state"])
CLAIM_REFUSED = Counter("matins_claim_refused", "Claims refused by the fence")
CLAIM_BLOCKED = Counter("matins_claim_blocked", "Claims put aside, since others hold a lock")
CLAIM_REPEATED = Counter("matins_claim_repeated", "Claims of due times that had their row already")
SKIPPED = Counter("matins_skipped", "Due times that a scheduler skipped", ["reason"])
ADMISSIONS = Counter("matins_admissions", "Decisions about runs that wait", ["state"])
RUNS_RETRIED = Counter("matins_runs_retried", "Runs that are tried again after an attempt")
RUNS_DEAD = Counter("matins_runs_dead", "Runs that were given up")
REPLAYED = Counter("matins_replayed", "Dead runs replayed: single ones, and by replays of many")
CLAIM_LAG = Histogram(
    "matins_claim_lag_seconds", "Claim time minus fire time", buckets=LAG_BOUNDS_S
)
SCHEDULE_LAG = Gauge("matins_schedule_lag_seconds", "Age of the oldest due and unclaimed fire time")
"""A scheduler measures it in its memory, an API in the rows of all jobs."""
QUEUE_LAG = Gauge("matins_queue_lag_seconds", "How long the dispatch queue reaches back")
SCHEDULERS = Gauge("matins_schedulers_alive", "Schedulers whose lease is in force")
WITHOUT_HOLDER = Gauge(
    "matins_partitions_without_holder", "Partitions that no scheduler holds: their jobs don't fire"
)
OVERDUE = Gauge("matins_overdue", "Jobs overdue and unclaimed; up to 100 of each partition")
DEAD_LETTERS = Gauge("matins_dead_letters", "Dead letters that nobody has closed; up to 10,000")
SYSTEM_WELL = Gauge("matins_well", "1 while matins status has no finding")
for _unmeasured in (
    *(SCHEDULE_LAG, QUEUE_LAG, SCHEDULERS, WITHOUT_HOLDER, OVERDUE, DEAD_LETTERS, SYSTEM_WELL),
):
    _unmeasured.set(nan)  # so says a process that does not measure it, or can't now
LIVE_RUNS = Gauge(
    "matins_live_runs", "Runs in states that don't last; each up to 10,000", ["state"]
)
POOL_QUEUED = Gauge("matins_pool_queued", "Runs on the queue of a pool; up to 10,000", ["pool"])
POOL_QUEUE_AGE = Gauge(
    "matins_pool_queue_age_seconds", "How long the first run on a pool's queue waits", ["pool"]
)
POOL_EXECUTORS = Gauge("matins_pool_executors", "Executors that serve a pool", ["pool"])
FINDINGS = Gauge("matins_findings", "1 while matins status has a finding of that kind", ["kind"])
PARTITIONS_HELD = Gauge("matins_partitions_held", "Partitions under lease")
WHEEL_SIZE = Gauge("matins_wheel_size", "Entries in the wheel")
DATABASE_CHANGED = Counter(
    "matins_database_changed",
    "Times that another PostgreSQL server was met, or one restarted or put back in time",
)
DATABASE_OLDER = Gauge(
    "matins_database_older", "1 while the address of PostgreSQL leads to an older primary"
)
RESTORE_UNRESOLVED = Gauge(
    "matins_restore_unresolved", "1 while a restore waits for matins resume-after-restore"
)
TASKS_RESTARTED = Counter(
    "matins_tasks_restarted", "Background tasks that died and were begun again", ["task"]
)
CLOCK_JUMPS = Counter("matins_clock_jumps", "Jumps seen of the database's clock")
QUARANTINED = Counter("matins_quarantined", "Jobs quarantined")
JOBS_UNREADABLE = Counter(
    "matins_jobs_unreadable", "Times that a stored job was passed over, since it can't be read"
)
ZONE_DATA = Info("matins_zone_data", "IANA's version of the time zone data of this process")
ZONE_DATA_BEHIND = Gauge(
    "matins_zone_data_behind",
    "1 while next due times were computed with newer zone data than that of this scheduler",
)
DUE_CORRECTED = Counter("matins_next_due_corrected", "Next due times that new zone data changed")
JOBS_EXPIRED = Counter("matins_jobs_expired", "Jobs deleted some time after their last run")
OLD_SNAPSHOT = Gauge(
    "matins_old_snapshot_seconds", "Age of the oldest snapshot, which keeps old versions of rows"
)
ROWS_HEALED = Counter(
    "matins_rows_healed", "Rows beside runs that had gone missing and were made again", ["table"]
)
UPKEEP_BROKEN = Counter("matins_upkeep_broken", "Jobs met in the upkeep that can't be read")
UPKEEP_FAILED = Counter("matins_upkeep_failed", "Tasks of the upkeep that ended with an error")
EXECUTORS_LOST = Counter("matins_executors_lost", "Executor incarnations declared lost")
MASS_LOSS_GUARD = Gauge("matins_mass_loss_guard", "1 while most executors look lost at once")
HANDED_OUT = Counter("matins_handed_out", "Attempts handed out")
START_LAG = BatchHistogram(
    "matins_start_lag_seconds", "Hand-out minus due time", buckets=LAG_BOUNDS_S
)
RECORDED = Counter("matins_recorded", "Ends of attempts recorded", ["outcome"])
SUPERSEDED = Counter("matins_superseded", "Ends reported of superseded attempts")
ALERTS = Counter("matins_alerts", "Edges that owners are told of", ["rule", "turn"])
DELIVERIES = Counter("matins_deliveries", "Tries to deliver messages", ["channel", "outcome"])
LIVE_VIEWS = Gauge("matins_live_views", "Live parts of pages that this API serves")
ATTEMPTS_RUNNING = Gauge("matins_attempts_running", "Attempts running in this executor")
KEEPERS_LOST = Counter("matins_keepers_lost", "Keepers that ended before their executor did")
UNCONFIRMED = Gauge("matins_unconfirmed_ends", "Ends kept by this executor until confirmed")
GATEWAY_ERRORS = Counter("matins_gateway_errors", "Failed calls of this executor to the gateway")


def count_of(counter: Counter, **labels: str) -> int:
    """Return what a counter has counted in this process, of those with these labels."""
    [metric] = counter.collect()
    samples = [sample for sample in metric.samples if sample.name.endswith("_total")]
    return round(sum(sample.value for sample in samples if labels.items() <= sample.labels.items()))


def exposition() -> bytes:
    """Return all metrics of this process in Prometheus's text format."""
    return generate_latest(REGISTRY)
