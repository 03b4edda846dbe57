-- Runs that wait, and what is before them.

-- name: place
-- By runs_id, waiting_run and the key of `dispatch`, of which a bounded part is counted. What is not
-- on the queue is counted as if it came there at its time.
SELECT r.id, r.state, r.reason, r.pool, clock.now, p.gap_s,
       CASE WHEN isfinite(held.ready_at) THEN held.ready_at END AS until,
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
    SELECT r.retry_at AS ready_at WHERE r.state = 'retrying'
    UNION ALL
    SELECT ready_at FROM waiting w WHERE w.run_id = r.id AND w.cause <> 'retry'
    LIMIT 1
) AS held ON true
WHERE r.id = :run_id::uuid AND r.due_at = :due_at::timestamptz
  AND r.state IN ('waiting', 'queued', 'retrying')
