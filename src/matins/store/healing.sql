-- Rows that a run in its state has beside it, and that went missing: by a restore, by a mistake. The
-- run's own row is what counts. In one snapshot run and row belong together, so whatever lacks here
-- is really gone; the lock shows that the run has not gone on since.

-- name: repair
-- A page of the runs that have not moved to the history, by runs_id; `last` is where it ends.
-- queued: its place on the queue is looked up by the primary key, as its row tells the rank.
WITH page AS MATERIALIZED (
    SELECT id, due_at, state, claimed_at, finished_at
    FROM runs
    WHERE id > :after::uuid
    ORDER BY id
    LIMIT :limit::integer
),
unfinished AS MATERIALIZED (
    SELECT id, due_at, state
    FROM page
    WHERE finished_at IS NULL
      AND claimed_at < coalesce(:now::timestamptz, clock_timestamp())
                     - make_interval(secs => :min_age_s)
),
queued AS (
    -- include: queue_places_lost
),
enqueued AS (
    -- include: enqueue
    ON CONFLICT DO NOTHING
    RETURNING run_id
),
unscheduled AS (
    -- include: waiting_places_lost
),
rescheduled AS (
    INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
    SELECT partition, coalesce(retry_at, :now, clock_timestamp()), id, due_at, team_id,
           CASE WHEN retry_at IS NULL THEN 'lost' ELSE 'retry' END
    FROM unscheduled
    ON CONFLICT DO NOTHING
    RETURNING run_id
)
SELECT (SELECT id FROM page ORDER BY id DESC LIMIT 1) AS last,
       (SELECT count(*) FROM page)::integer AS count,
       array(SELECT run_id FROM enqueued) AS enqueued,
       array(SELECT run_id FROM rescheduled) AS rescheduled,
       array(SELECT id FROM unfinished WHERE state = 'running') AS running

-- name: stray_runs
-- Of these runs, those of executors that are not known, or in no hand-out of theirs.
SELECT r.id AS run_id, r.executor, r.started_at,
       coalesce(j.spec ->> 'timeout', :default_timeout) AS timeout,
       e.id IS NOT NULL AND e.ended_at IS NULL AS is_executor_alive,
       coalesce(:now::timestamptz, clock_timestamp()) AS now
FROM unnest(:run_ids::uuid[]) AS given (run_id)
JOIN runs r ON r.id = given.run_id AND r.due_at = run_due_at(given.run_id)
JOIN jobs j ON j.id = r.job_id
LEFT JOIN executors e ON e.id = r.executor
WHERE r.state = 'running'
  AND (e.id IS NULL OR NOT EXISTS (
      SELECT FROM handouts h WHERE h.executor = r.executor AND r.id = ANY (h.run_ids)
  ))

-- name: hand_out_again
-- As a hand-out that never arrived, under a number that no poll has: an executor that lives gives it
-- back at its next heartbeat, and what one held that ended, or is not even known, is lost.
WITH unknown AS (
    INSERT INTO executors (
        id, name, pools, slots, partition, first_seq, first_heartbeat_at, heartbeat_at, ended_at
    )
    SELECT :executor::uuid, 'unknown', '{}', 0, :partition::smallint, 0, now, now, now
    FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
    ON CONFLICT (id) DO UPDATE SET is_empty = false
),
held AS (
    SELECT r.id
    FROM unnest(:run_ids::uuid[]) AS given (run_id)
    JOIN runs r ON r.id = given.run_id AND r.due_at = run_due_at(given.run_id)
    WHERE r.state = 'running' AND r.executor = :executor
      AND NOT EXISTS (
          SELECT FROM handouts h WHERE h.executor = :executor AND r.id = ANY (h.run_ids)
      )
    FOR NO KEY UPDATE OF r SKIP LOCKED
)
INSERT INTO handouts AS h (executor, seq, handed_at, run_ids)
SELECT :executor, 0, coalesce(:now, clock_timestamp()), array_agg(id)
FROM held
HAVING count(*) > 0
ON CONFLICT (executor, seq) DO UPDATE SET run_ids = h.run_ids || excluded.run_ids
RETURNING executor

-- name: free_permits
-- Permits of runs that neither run nor are queued. There are no more of them than the limits let be.
WITH over AS (
    SELECT p.gate_id, p.run_id
    FROM permits p
    WHERE NOT EXISTS (
        SELECT
        FROM runs r
        WHERE r.id = p.run_id AND r.due_at = p.due_at AND r.holds_permits
          AND r.state IN ('queued', 'running')
    )
)
DELETE FROM permits p
USING over o
WHERE p.gate_id = o.gate_id AND p.run_id = o.run_id
RETURNING p.run_id
