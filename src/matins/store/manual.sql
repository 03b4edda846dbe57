-- What owners do to single runs.

-- name: find_job
-- With its first unfinished run, if that decides: by the unique key (job_id, due_at, kind).
SELECT j.id, j.overlap, coalesce(:now::timestamptz, clock_timestamp()) AS now,
       j.spec ->> 'target' AS target, k.run_id, k.fingerprint, d.run_id IS NOT NULL AS has_letter,
       r.id AS open_id, r.due_at, r.claimed_at, r.kind, r.state, r.attempt, r.cancel_at,
       r.awaits_replay
FROM jobs j
JOIN teams t ON t.id = j.team_id
LEFT JOIN trigger_keys k ON k.job_id = j.id AND k.key = :key::text
LEFT JOIN dead_letters d
    ON d.run_id = :replay_of::uuid AND d.job_id = j.id AND d.replayed_as IS NULL
LEFT JOIN LATERAL (
    SELECT id, due_at, claimed_at, kind, state, attempt, cancel_at, awaits_replay
    FROM runs
    WHERE job_id = j.id AND due_at >= j.open_since AND finished_at IS NULL
    ORDER BY due_at
    LIMIT 1
) AS r ON j.overlap = 'skip'
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'

-- name: trigger
-- Made in one statement with its place on the queue, or in the waiting room. A second run for the
-- same key runs into that of `trigger_keys`, and then nothing at all is made. The letter of the run for
-- which it stands is locked first, so that whoever comes second finds none.
WITH letter AS (
    SELECT run_id
    FROM dead_letters
    WHERE run_id = :replay_of::uuid AND job_id = :job_id::uuid AND replayed_as IS NULL
    FOR UPDATE
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, finished_at, epoch, rank, team_id, partition,
        priority, kind, state, reason, pool, input, allow_overlap, replay_of, replayed_by
    )
    SELECT :run_id::uuid, j.id, :due_at::timestamptz, :due_at, now,
           CASE :state::text WHEN 'skipped' THEN now END, 0, rank_at(now, j.priority), j.team_id,
           j.partition, j.priority, 'manual',
           CASE WHEN :state = 'queued' AND is_gated THEN 'waiting' ELSE :state END,
           CASE WHEN :state = 'queued' AND is_gated THEN 'to be admitted' ELSE :reason::text END,
           j.pool, :input::jsonb, :allow_overlap::boolean, :replay_of,
           CASE WHEN :replay_of IS NOT NULL THEN :by::text END
    FROM coalesce(:now::timestamptz, clock_timestamp()) AS now, jobs j
    CROSS JOIN LATERAL (
        SELECT
            -- include: is_gated
            AS is_gated
    ) AS gated
    WHERE j.id = :job_id AND j.state <> 'deleted'
      AND (:replay_of IS NULL OR EXISTS (SELECT FROM letter))
    ON CONFLICT (job_id, due_at, kind) DO NOTHING
    RETURNING *, false AS alone
),
keyed AS (
    INSERT INTO trigger_keys (job_id, key, run_id, fingerprint, made_at)
    SELECT job_id, :key::text, id, :fingerprint::text, claimed_at
    FROM made
    WHERE :key IS NOT NULL
),
closed AS (
    UPDATE dead_letters d
    SET replayed_as = m.id, dismissed_at = m.claimed_at, dismissed_by = :by, note = 'replayed as run ' || m.id
    FROM made m
    WHERE d.run_id = m.replay_of
),
-- include: placed
SELECT m.id, m.due_at, m.fire_at, m.claimed_at, m.started_at, m.finished_at, m.retry_at, m.kind,
       m.state, m.reason, m.attempt, m.pool, t.name AS team, j.name AS job,
       wake_chains(m.job_id, m.due_at)
FROM made m
JOIN jobs j ON j.id = m.job_id
JOIN teams t ON t.id = m.team_id

-- name: cancel
-- Waiting room and queue are locked before the run, in the order of those who admit and dequeue, so
-- that they can't deadlock. A row of them that is left over is passed over by `dequeue`.
WITH run AS (
    SELECT pool, rank, partition, retry_at
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
    WHERE d.pool = run.pool AND d.rank = run.rank AND d.run_id = :run_id
      AND (SELECT count(*) FROM unheld) >= 0
    RETURNING d.run_id
),
cancelled AS (
    UPDATE runs
    SET state = CASE state WHEN 'running' THEN 'running' ELSE 'cancelled' END,
        reason = CASE state WHEN 'running' THEN reason ELSE :reason::text END,
        finished_at = CASE state WHEN 'running' THEN finished_at
                                 ELSE coalesce(:now::timestamptz, clock_timestamp()) END,
        retry_at = NULL,
        cancel_at = coalesce(cancel_at, :now, clock_timestamp())
    WHERE id = :run_id AND due_at = :due_at AND state IN ('waiting', 'queued', 'running', 'retrying')
      AND (SELECT count(*) FROM unqueued) >= 0
    RETURNING *
),
given_back AS MATERIALIZED (
    SELECT give_back(array(SELECT id FROM cancelled WHERE holds_permits AND state = 'cancelled'))
)
SELECT c.id, c.due_at, c.fire_at, c.claimed_at, c.started_at, c.finished_at, c.retry_at, c.kind,
       c.state, c.reason, c.attempt, c.job_id, t.name AS team, j.name AS job
FROM given_back
CROSS JOIN cancelled c
JOIN jobs j ON j.id = c.job_id
JOIN teams t ON t.id = c.team_id

-- name: retry_now
-- To a place of now in the waiting room. A run whose old place is missing gets one, too.
WITH unscheduled AS (
    -- include: no_longer_due
),
hurried AS (
    UPDATE runs
    SET retry_at = least(retry_at, coalesce(:now::timestamptz, clock_timestamp()))
    WHERE id = :run_id AND due_at = :due_at AND state = 'retrying'
      AND (SELECT count(*) FROM unscheduled) >= 0
    RETURNING *
),
rescheduled AS (
    INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
    SELECT partition, retry_at, id, due_at, team_id, 'retry' FROM hurried
)
SELECT h.id, h.due_at, h.fire_at, h.claimed_at, h.started_at, h.finished_at, h.retry_at, h.kind,
       h.state, h.reason, h.attempt, h.job_id, t.name AS team, j.name AS job
FROM hurried h
JOIN jobs j ON j.id = h.job_id
JOIN teams t ON t.id = h.team_id

-- name: last_attempt
-- Of a run that waits for its next one.
SELECT a.outcome, a.reason, a.output, a.exit_code, a.http_status
FROM runs r
JOIN all_attempts a ON a.run_id = :run_id AND a.due_at = :due_at AND a.number = r.attempt
WHERE r.id = :run_id::uuid AND r.due_at = :due_at::timestamptz AND r.state = 'retrying'

-- name: stop_retrying
WITH unscheduled AS (
    -- include: no_longer_due
),
moved AS (
    UPDATE runs
    SET state = 'dead',
        reason = :reason::text || '; at last: ' || reason,
        finished_at = coalesce(:now::timestamptz, clock_timestamp()),
        retry_at = NULL
    WHERE id = :run_id AND due_at = :due_at AND state = 'retrying'
      AND (SELECT count(*) FROM unscheduled) >= 0
    RETURNING *, :error::text AS error, :fingerprint::text AS fingerprint
),
buried AS (
    -- include: buried
)
SELECT m.id, m.due_at, m.fire_at, m.claimed_at, m.started_at, m.finished_at, m.retry_at, m.kind,
       m.state, m.reason, m.attempt, m.job_id, t.name AS team, j.name AS job
FROM moved m
JOIN jobs j ON j.id = m.job_id
JOIN teams t ON t.id = m.team_id

-- name: reopen_day
-- Its run is to go on, so its day does; unless that was purged.
SELECT ensure_day((:due_at::timestamptz AT TIME ZONE 'UTC')::date)
FROM history
WHERE coalesce(dropped_until <= :due_at, true)

-- name: replay
WITH wanted AS (
    SELECT run_id, due_at, :by::text AS by
    FROM dead_letters
    WHERE run_id = :run_id::uuid AND due_at = :due_at::timestamptz AND replayed_as IS NULL
    FOR UPDATE
),
reopened AS (
    -- include: reopened
),
-- include: revived
SELECT r.id, r.due_at, r.fire_at, r.claimed_at, r.started_at, r.finished_at, r.retry_at, r.kind,
       r.state, r.reason, r.attempt, t.name AS team, r.job
FROM reopened r
JOIN teams t ON t.id = r.team_id

-- name: status
SELECT r.id, r.due_at, r.fire_at, r.claimed_at, r.started_at, r.finished_at, r.retry_at, r.kind,
       r.state, r.reason, r.attempt, r.pool, t.name AS team, j.name AS job
FROM all_runs r
JOIN jobs j ON j.id = r.job_id
JOIN teams t ON t.id = r.team_id
WHERE r.id = :run_id::uuid AND r.due_at = :due_at::timestamptz
  AND r.due_at >= :first::timestamptz AND r.due_at < :past::timestamptz
