-- What an explanation has to know of a job, of its runs, and of what holds them.

-- name: job
-- By the primary key. Where no scheduler has ever been, nothing is claimed yet.
SELECT j.id, t.name AS team, j.name, j.state, j.reason, j.next_due_at, j.follows,
       coalesce(l.watermark, timestamptz 'epoch') AS watermark,
       greatest(h.dropped_until, p.succeeded_until, p.others_until) AS purged_until
FROM jobs j
JOIN teams t ON t.id = j.team_id
JOIN leases l ON l.partition = j.partition
CROSS JOIN history h
LEFT JOIN purges p ON p.job_id = j.id
WHERE j.id = :job_id::uuid

-- name: run
-- By the index on id of each table, on the day of the run.
SELECT r.job_id, r.executor,
    -- include: run_columns
FROM all_runs r
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = r.team_id
WHERE r.id = :run_id::uuid AND r.due_at >= :first::timestamptz AND r.due_at < :past::timestamptz

-- name: run_at
-- By the unique key (job_id, due_at, kind). What was due by itself comes first.
SELECT id, due_until
FROM all_runs
WHERE job_id = :job_id::uuid AND due_at = :at::timestamptz
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
ORDER BY kind NOT IN ('scheduled', 'chained'), kind
LIMIT 1

-- name: newest_run
-- By the unique key (job_id, due_at, kind), in a stretch of days.
SELECT id
FROM all_runs
WHERE job_id = :job_id::uuid AND kind <> 'backfill'
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
ORDER BY due_at DESC
LIMIT 1

-- name: place
-- By waiting_run.
SELECT cause, blocker FROM waiting WHERE run_id = :run_id::uuid AND cause <> 'retry'

-- name: executor
-- By the primary key.
SELECT name, heartbeat_at, ended_at FROM executors WHERE id = :id::uuid
