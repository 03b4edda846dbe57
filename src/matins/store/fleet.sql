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
-- Since when the first run of each pool is on the queue, or is to be.
WITH RECURSIVE heads AS (
    -- include: queue_heads
)
SELECT h.pool, greatest(r.claimed_at, to_timestamp(h.rank / 1000000.0)) AS queued_since
FROM (SELECT * FROM heads LIMIT 10000) AS h
JOIN runs r ON r.id = h.run_id AND r.due_at = h.due_at
