-- Who is alive: schedulers, executors, and what waits for them.

-- name: partitions
SELECT partition, watermark,
       holder IS NOT NULL AND expires_at > coalesce(:now::timestamptz, clock_timestamp()) AS is_held,
       coalesce(:now, clock_timestamp()) AS now
FROM leases

-- name: seen
SELECT max(renewed_at) AS seen_at FROM schedulers

-- name: served
-- By executors_alive.
SELECT pool, count(*)::integer AS executors
FROM executors
CROSS JOIN LATERAL unnest(pools) AS pool
WHERE ended_at IS NULL
  AND heartbeat_at > coalesce(:now::timestamptz, clock_timestamp()) - :silent::interval
GROUP BY pool
LIMIT 10000

-- name: queues
-- A step in the primary key for each pool that has something on the queue: since when its first run
-- is there, or is to be.
WITH RECURSIVE heads AS (
    (
        SELECT pool, rank, run_id, due_at
        FROM dispatch
        ORDER BY pool, rank, run_id
        LIMIT 1
    )
    UNION ALL
    SELECT next.pool, next.rank, next.run_id, next.due_at
    FROM heads
    CROSS JOIN LATERAL (
        SELECT pool, rank, run_id, due_at
        FROM dispatch
        WHERE pool > heads.pool
        ORDER BY pool, rank, run_id
        LIMIT 1
    ) AS next
)
SELECT h.pool, greatest(r.claimed_at, to_timestamp(h.rank / 1000000.0)) AS queued_since
FROM (SELECT * FROM heads LIMIT 10000) AS h
JOIN runs r ON r.id = h.run_id AND r.due_at = h.due_at

-- name: lag
-- For each partition by jobs_due. What lies up to the watermark has its row, though the next due
-- time may not be written yet.
WITH clock AS MATERIALIZED (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now)
SELECT c.now, coalesce(extract(epoch FROM c.now - min(j.claimed_until)), 0)::float8 AS claim_lag_s
FROM clock c
CROSS JOIN leases p
LEFT JOIN LATERAL (
    SELECT greatest(next_fire_at, p.watermark) AS claimed_until
    FROM jobs
    WHERE partition = p.partition AND next_fire_at <= c.now
    ORDER BY next_fire_at
    LIMIT 1
) AS j ON true
GROUP BY c.now
