-- Rows of jobs that may lie far back, a range of days at a time (see past.py).

-- name: bounds
-- By the primary key, and by kept_runs_due.
-- The blocks of 32 days that have any are told apart: a due time far ahead leaves a gap of years.
SELECT min(day) AS oldest, max(day) AS newest,
       (coalesce(:now::timestamptz, clock_timestamp()) AT TIME ZONE 'UTC')::date AS today,
       array_agg(DISTINCT (day - date '0001-01-01' + 1) / 32) AS blocks,
       (SELECT (min(due_at) AT TIME ZONE 'UTC')::date FROM kept_runs) AS kept
FROM days

-- name: newest_runs
-- By the unique key (job_id, due_at, kind).
SELECT j.job_id, r.*
FROM unnest(:job_ids::uuid[], :befores::timestamptz[]) AS j (job_id, before)
CROSS JOIN LATERAL (
    SELECT due_at, due_until, state, reason, finished_at, claimed_at, retry_at, attempt, pool
    FROM all_runs
    WHERE job_id = j.job_id AND due_at < j.before AND kind = 'scheduled'
      AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
    ORDER BY due_at DESC
    LIMIT 1
) AS r

-- name: run_counts
-- By the unique key (job_id, due_at, kind).
SELECT c.job_id, (
    SELECT count(*)
    FROM all_runs
    WHERE job_id = c.job_id AND due_at > c.since AND kind = 'scheduled'
      AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
) AS run_count
FROM unnest(:job_ids::uuid[], :sinces::timestamptz[]) AS c (job_id, since)
