-- Runs that wait, and what is before them.

-- name: place
-- By runs_id, waiting_run, waiting_line and the key of `dispatch`, of which bounded parts are counted. What is not
-- on the queue is counted as if it came there at its time.
SELECT r.id, r.state, r.reason, r.pool, clock.now, p.gap_s,
       CASE WHEN isfinite(held.ready_at) THEN held.ready_at END AS until, (
           SELECT count(*)
           FROM (
               SELECT
               FROM waiting w
               WHERE w.gate_id = held.gate_id
                 AND (w.line_rank, w.run_id) < (held.line_rank, r.id)
               LIMIT :most
           ) AS counted
       )::integer AS in_line,
       (
           SELECT count(*)
           FROM (
               SELECT
               FROM dispatch d
               WHERE d.pool = r.pool
                 AND (d.rank, d.run_id) < (
                     CASE r.state WHEN 'queued' THEN r.rank
                                  ELSE rank_at(
                                      greatest(clock.now, nullif(held.ready_at, 'infinity')),
                                      r.priority
                                  ) END,
                     r.id
                 )
               LIMIT :most::integer + 1
           ) AS counted
       )::integer AS before
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN runs r
LEFT JOIN pools p ON p.pool = r.pool
LEFT JOIN LATERAL (
    SELECT r.retry_at AS ready_at, NULL AS gate_id, NULL AS line_rank WHERE r.state = 'retrying'
    UNION ALL
    SELECT ready_at, gate_id, line_rank FROM waiting w WHERE w.run_id = r.id AND w.cause <> 'retry'
    LIMIT 1
) AS held ON true
WHERE r.id = :run_id::uuid AND r.due_at = :due_at::timestamptz
  AND r.state IN ('waiting', 'queued', 'retrying')

-- name: holders
-- Who holds what a run waits for: permits of the gate in whose line it stands, or what has started of
-- its job. By waiting_run; then by the primary key of permits, or by the unique key (job_id, due_at, kind).
WITH held AS MATERIALIZED (
    SELECT h.run_id, h.due_at
    FROM waiting w
    CROSS JOIN LATERAL (
        SELECT p.run_id, p.due_at FROM permits p WHERE p.gate_id = w.gate_id
        UNION ALL
        SELECT r.id, r.due_at
        FROM jobs j
        JOIN runs r ON r.job_id = j.id AND r.due_at >= j.open_since
        WHERE j.id = CASE WHEN w.cause = 'overlap' THEN w.blocker::uuid END AND r.finished_at IS NULL
          AND r.id <> w.run_id
          AND (r.state IN ('queued', 'running') OR r.attempt > 0 AND r.awaits_replay IS NOT TRUE)
    ) AS h
    WHERE w.run_id = :run_id::uuid AND w.cause <> 'retry'
    LIMIT :most
)
SELECT r.id AS run, j.name AS job, r.state, r.started_at,
       (SELECT count(*) FROM held)::integer AS held_by
FROM (SELECT * FROM held ORDER BY run_id LIMIT :limit) AS h
JOIN runs r ON r.id = h.run_id AND r.due_at = h.due_at
JOIN jobs j ON j.id = r.job_id
ORDER BY r.id
