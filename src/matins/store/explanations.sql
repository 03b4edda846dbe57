-- What an explanation has to know of a job, of its runs, and of what holds them.

-- name: job
-- By the primary key. Where no scheduler has ever been, nothing is claimed yet.
SELECT j.id, t.name AS team, j.name, j.state, j.reason, j.paused_until, j.next_due_at, j.follows,
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

-- name: runs_at
-- By the unique key (job_id, due_at, kind). What was due by itself comes first.
SELECT id, kind, state, claimed_at AS made_at, due_until
FROM all_runs
WHERE job_id = :job_id::uuid AND due_at = :at::timestamptz
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
ORDER BY kind NOT IN ('scheduled', 'chained'), kind

-- name: newest
-- By the unique key (job_id, due_at, kind), in a range of days.
SELECT id, due_at, due_until, state, reason, finished_at, claimed_at, retry_at, attempt, pool
FROM all_runs
WHERE job_id = :job_id::uuid AND due_at <= :until::timestamptz AND kind = ANY (:kinds::text[])
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
ORDER BY due_at DESC
LIMIT 1

-- name: link
-- The newest row, up to an instant, of the job that leads a chain, and how all that the chain follows
-- stand. By jobs_name_ever, then by the unique key, in a range of days.
SELECT
    -- include: link_columns
FROM jobs j
JOIN upstreams lead_by ON lead_by.job_id = j.id AND lead_by.position = 0
CROSS JOIN LATERAL (
    SELECT due_at, due_until, due_count, kind, state, reason, finished_at
    FROM all_runs
    WHERE job_id = (
        SELECT id
        FROM jobs
        WHERE team_id = lead_by.team_id AND name = lead_by.name
        ORDER BY state = 'deleted', changed_at DESC
        LIMIT 1
    )
      AND kind IN ('scheduled', 'chained', 'manual')
      AND due_at <= :until::timestamptz
      AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
    ORDER BY due_at DESC
    LIMIT 1
) AS r
WHERE j.id = :job_id::uuid

-- name: place
-- By waiting_run.
SELECT cause, blocker, gate_id, line_rank
FROM waiting
WHERE run_id = :run_id::uuid AND cause <> 'retry'

-- name: gate
-- By the primary keys of gates and permits, and by waiting_line, of which a bounded part is counted.
SELECT kind, name, (SELECT count(*) FROM permits WHERE gate_id = g.id)::integer AS taken, (
    SELECT count(*)
    FROM (
        SELECT
        FROM waiting
        WHERE gate_id = g.id AND (line_rank, run_id) < (:line_rank::bigint, :run_id::uuid)
        LIMIT 10000
    ) AS ahead
)::integer AS before
FROM gates g
WHERE id = :gate_id::bigint

-- name: holders
-- By the primary key of permits, then by that of runs. The oldest due times come first.
SELECT r.id AS run, j.name AS job, r.state, r.started_at
FROM (SELECT * FROM permits WHERE gate_id = :gate_id::bigint ORDER BY run_id LIMIT :limit) AS p
JOIN runs r ON r.id = p.run_id AND r.due_at = p.due_at
JOIN jobs j ON j.id = r.job_id
ORDER BY r.id

-- name: executor
-- By the primary key.
SELECT name, heartbeat_at, ended_at FROM executors WHERE id = :id::uuid
