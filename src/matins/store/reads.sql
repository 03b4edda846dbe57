-- What owners look at.

-- name: job
SELECT j.id, j.revision, j.state, j.reason, j.spec::text AS spec, j.created_at, j.changed_at,
       j.next_due_at, j.next_fire_at, j.overrides::text AS overrides,
       j.paused_until
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'

-- name: job_ever
-- By jobs_name_ever: the job of that name, else the last one that had it.
SELECT j.id, j.state, j.changed_at
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name
ORDER BY (j.state = 'deleted'), j.changed_at DESC
LIMIT 1

-- name: jobs
-- By jobs_name.
SELECT j.id, j.name, j.revision, j.state, j.reason, j.spec::text AS spec, j.created_at,
       j.changed_at, j.next_due_at, j.next_fire_at, j.overrides::text AS overrides,
       j.paused_until
FROM jobs j
WHERE j.team_id = (SELECT id FROM teams WHERE name = :team)
  AND j.name > :after::text
  AND j.state <> 'deleted'
ORDER BY j.name
LIMIT :limit

-- name: all_jobs
-- By the primary key.
SELECT j.id, j.name, j.revision, j.state, j.reason, j.spec::text AS spec, j.created_at,
       j.changed_at, j.next_due_at, j.next_fire_at, j.overrides::text AS overrides,
       j.paused_until, t.name AS team
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE j.id > :after::uuid AND j.state <> 'deleted'
ORDER BY j.id
LIMIT :limit

-- name: statuses
SELECT r.id, r.due_at, r.fire_at, r.claimed_at, r.started_at, r.finished_at, r.retry_at, r.kind,
       r.state, r.reason, r.attempt, r.pool, t.name AS team, j.name AS job
FROM unnest(:run_ids::uuid[], :due_ats::timestamptz[]) AS w (run_id, due_at)
JOIN runs r ON r.id = w.run_id AND r.due_at = w.due_at
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = r.team_id

-- name: runs_of_job
-- By the unique key (job_id, due_at, kind), in a range of days. A run's id is in the order of its
-- due time.
SELECT r.id, r.due_at, r.fire_at, r.claimed_at, r.started_at, r.finished_at, r.retry_at, r.kind,
       r.state, r.reason, r.attempt, r.pool, r.due_until, r.due_count, r.lost_count, r.cancel_at
FROM all_runs r
WHERE r.job_id = :job_id::uuid
  AND r.due_at <= :until::timestamptz
  AND r.due_at >= :first::timestamptz AND r.due_at < :past::timestamptz
  AND r.id < :before::uuid
ORDER BY r.due_at DESC, r.id DESC
LIMIT :limit

-- name: runs_recent
-- By runs_id, in a range of days. Only so many runs are looked at, since
-- those in the states that are asked for may be rare.
WITH walked AS (
    -- include: walked_recent
)
-- include: walked_runs

-- name: runs_recent_walked
WITH walked AS (
    -- include: walked_recent
)
-- include: walked_to

-- name: runs_of_team
-- By runs_team and past_runs_team, in a range of days. Only so many runs are looked at, since
-- those in the states that are asked for may be rare.
WITH walked AS (
    -- include: walked_of_team
)
-- include: walked_runs

-- name: runs_of_team_walked
WITH walked AS (
    -- include: walked_of_team
)
-- include: walked_to

-- name: runs_by_id
-- By the index on id of each table, in a range of days.
SELECT
    -- include: run_columns
FROM all_runs r
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = r.team_id
WHERE r.id = ANY (:run_ids::uuid[])
  AND r.due_at >= :first::timestamptz AND r.due_at < :past::timestamptz

-- name: dead
-- By dead_letters_pkey, or dead_letters_of_team.
SELECT run_id
FROM dead_letters
WHERE run_id < :before::uuid
ORDER BY run_id DESC
LIMIT :limit

-- name: dead_of_team
SELECT run_id
FROM dead_letters
WHERE team_id = (SELECT id FROM teams WHERE name = :team) AND run_id < :before::uuid
ORDER BY run_id DESC
LIMIT :limit

-- name: retrying
-- All that wait are looked at, which are few beside all that have ended.
SELECT run_id
FROM waiting
WHERE cause = 'retry' AND run_id < :before::uuid
ORDER BY run_id DESC
LIMIT :limit

-- name: retrying_of_team
SELECT run_id
FROM waiting
WHERE team_id = (SELECT id FROM teams WHERE name = :team)
  AND cause = 'retry' AND run_id < :before::uuid
ORDER BY run_id DESC
LIMIT :limit

-- name: waiting
-- By waiting_run.
SELECT run_id
FROM waiting
WHERE cause <> 'retry' AND run_id < :before::uuid
ORDER BY run_id DESC
LIMIT :limit

-- name: waiting_of_team
-- By waiting_run.
SELECT run_id
FROM waiting
WHERE team_id = (SELECT id FROM teams WHERE name = :team)
  AND cause <> 'retry' AND run_id < :before::uuid
ORDER BY run_id DESC
LIMIT :limit

-- name: queued
-- All of the queue is looked at, as for `retrying`.
SELECT run_id
FROM dispatch
WHERE run_id < :before::uuid
ORDER BY run_id DESC
LIMIT :limit

-- name: queued_of_team
SELECT r.id AS run_id
FROM dispatch d
JOIN runs r ON r.id = d.run_id AND r.due_at = d.due_at
WHERE r.team_id = (SELECT id FROM teams WHERE name = :team) AND r.id < :before::uuid
ORDER BY r.id DESC
LIMIT :limit

-- name: running
-- What was handed out and is not closed yet: little more than what runs.
SELECT DISTINCT given.run_id
FROM handouts h
CROSS JOIN LATERAL unnest(h.run_ids) AS given (run_id)
WHERE given.run_id < :before::uuid
ORDER BY given.run_id DESC
LIMIT :limit

-- name: running_of_team
SELECT DISTINCT r.id AS run_id
FROM handouts h
CROSS JOIN LATERAL unnest(h.run_ids) AS given (run_id)
JOIN runs r ON r.id = given.run_id AND r.due_at = run_due_at(given.run_id)
WHERE r.team_id = (SELECT id FROM teams WHERE name = :team) AND r.id < :before::uuid
ORDER BY r.id DESC
LIMIT :limit

-- name: attempts
-- The ended ones, and the one that the run's row tells of.
SELECT a.number, coalesce(e.name, a.executor::text) AS executor, a.started_at, a.finished_at,
       a.outcome, a.reason, a.exit_code, a.http_status, a.output, a.output_cut,
       a.results::text AS results
FROM all_attempts a
LEFT JOIN executors e ON e.id = a.executor
WHERE a.run_id = :run_id::uuid AND a.due_at = :due_at::timestamptz
  AND a.due_at >= :first::timestamptz AND a.due_at < :past::timestamptz
UNION ALL
SELECT r.attempt, coalesce(e.name, r.executor::text), r.started_at, NULL, NULL, '', NULL, NULL, '', 0,
       NULL
FROM runs r
LEFT JOIN executors e ON e.id = r.executor
WHERE r.id = :run_id AND r.due_at = :due_at AND r.state = 'running'
ORDER BY number

-- name: input
SELECT r.input::text AS input, r.replay_of, r.replayed_by
FROM all_runs r
WHERE r.id = :run_id::uuid AND r.due_at = :due_at::timestamptz
  AND r.due_at >= :first::timestamptz AND r.due_at < :past::timestamptz

-- name: executors
SELECT e.id, e.name,
       CASE WHEN e.stopped THEN 'stopped'
            WHEN e.ended_at IS NOT NULL THEN 'lost'
            WHEN e.heartbeat_at < coalesce(:now::timestamptz, clock_timestamp()) - :silent::interval
                THEN 'silent'
            ELSE 'alive' END AS state,
       e.pools, e.slots, coalesce(held.running, 0)::integer AS running, e.first_heartbeat_at, e.heartbeat_at,
       e.ended_at
FROM executors e
LEFT JOIN LATERAL (
    SELECT count(*) AS running
    FROM handouts h
    CROSS JOIN LATERAL unnest(h.run_ids) AS given (run_id)
    JOIN runs r ON r.id = given.run_id AND r.due_at = run_due_at(given.run_id)
    WHERE h.executor = e.id AND r.state = 'running' AND r.executor = e.id
) held ON true
WHERE e.ended_at IS NULL
   OR e.ended_at > coalesce(:now::timestamptz, clock_timestamp()) - interval '1 day'
ORDER BY e.name, e.first_heartbeat_at
LIMIT 1000

-- name: partitions
SELECT partition, epoch,
       CASE WHEN expires_at > coalesce(:now::timestamptz, clock_timestamp()) THEN holder END
           AS holder,
       expires_at, watermark,
       extract(epoch FROM coalesce(:now, clock_timestamp()) - watermark)::float8 AS lag_s
FROM leases
ORDER BY partition
