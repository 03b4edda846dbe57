-- What owners do to single runs.

-- name: find_job
SELECT j.id, coalesce(:now::timestamptz, clock_timestamp()) AS now
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'

-- name: trigger
-- Made and enqueued in one statement, as a claim does it.
WITH made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, epoch, team_id, partition, priority, kind, state,
        pool
    )
    SELECT :run_id::uuid, j.id, :due_at::timestamptz, :due_at,
           coalesce(:now::timestamptz, clock_timestamp()), 0, j.team_id, j.partition, j.priority,
           'manual', 'queued', j.pool
    FROM jobs j
    WHERE j.id = :job_id::uuid AND j.state <> 'deleted'
    ON CONFLICT (job_id, due_at, kind) DO NOTHING
    RETURNING *
),
queued AS (
    SELECT *, claimed_at AS ranked_at, false AS alone FROM made
),
enqueued AS (
    -- include: enqueue
)
SELECT m.id, m.due_at, m.fire_at, m.claimed_at, m.started_at, m.finished_at, m.retry_at, m.kind,
       m.state, m.reason, m.attempt, m.pool, t.name AS team, j.name AS job
FROM made m
JOIN jobs j ON j.id = m.job_id
JOIN teams t ON t.id = m.team_id

-- name: cancel
-- Waiting room and queue are locked before the run, in the order of those who admit and dequeue, so
-- that they can't deadlock. A row of them that is left over is passed over by `dequeue`.
WITH run AS (
    SELECT pool, priority, partition, retry_at
    FROM runs
    WHERE id = :run_id::uuid AND due_at = :due_at::timestamptz
),
unscheduled AS (
    DELETE FROM waiting w
    USING run
    WHERE w.partition = run.partition AND w.ready_at = run.retry_at AND w.run_id = :run_id
    RETURNING w.run_id
),
unheld AS (
    DELETE FROM waiting
    WHERE run_id = :run_id AND cause <> 'retry' AND (SELECT count(*) FROM unscheduled) >= 0
    RETURNING run_id
),
unqueued AS (
    DELETE FROM dispatch d
    USING run
    WHERE d.pool = run.pool AND d.priority = run.priority AND d.run_id = :run_id
      AND (SELECT count(*) FROM unheld) >= 0
    RETURNING d.run_id
),
cancelled AS (
    UPDATE runs
    SET state = CASE state WHEN 'running' THEN 'running' ELSE 'cancelled' END,
        reason = CASE state WHEN 'running' THEN reason ELSE 'cancelled by its owner' END,
        finished_at = CASE state WHEN 'running' THEN finished_at
                                 ELSE coalesce(:now::timestamptz, clock_timestamp()) END,
        retry_at = NULL,
        cancel_at = coalesce(cancel_at, :now, clock_timestamp())
    WHERE id = :run_id AND due_at = :due_at AND state IN ('waiting', 'queued', 'running', 'retrying')
      AND (SELECT count(*) FROM unqueued) >= 0
    RETURNING *
)
SELECT c.id, c.due_at, c.fire_at, c.claimed_at, c.started_at, c.finished_at, c.retry_at, c.kind,
       c.state, c.reason, c.attempt, t.name AS team, j.name AS job
FROM cancelled c
JOIN jobs j ON j.id = c.job_id
JOIN teams t ON t.id = c.team_id

-- name: state
SELECT state
FROM all_runs
WHERE id = :run_id::uuid AND due_at = :due_at::timestamptz
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
