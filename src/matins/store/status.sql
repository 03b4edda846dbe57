-- The whole system in one look. A look is taken every few seconds by each API, so what each statement
-- reads is bounded: by the number of partitions, pools and executors, or by :most.

-- name: schedulers
SELECT clock.now,
       count(*) FILTER (WHERE s.expires_at > clock.now)::integer AS schedulers,
       min(s.since) FILTER (WHERE s.expires_at > clock.now) AS began_at,
       greatest(max(s.renewed_at), (SELECT max(watermark) FROM partitions)) AS seen_at,
       EXISTS (SELECT FROM jobs WHERE next_fire_at IS NOT NULL) AS has_due_jobs
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
LEFT JOIN schedulers s ON true
GROUP BY clock.now

-- name: partitions
-- Twice for each partition by jobs_due. What lies up to the watermark has its row, though the next due
-- time may not be written yet.
WITH clock AS MATERIALIZED (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now)
SELECT p.partition::integer AS partition, p.watermark,
       p.holder IS NOT NULL AND p.expires_at > c.now AS is_held,
       first.unclaimed_since, late.overdue
FROM clock c
CROSS JOIN leases p
LEFT JOIN LATERAL (
    SELECT greatest(next_fire_at, p.watermark) AS unclaimed_since
    FROM jobs
    WHERE partition = p.partition AND next_fire_at <= c.now
    ORDER BY next_fire_at
    LIMIT 1
) AS first ON true
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS overdue
    FROM (
        SELECT
        FROM jobs
        WHERE partition = p.partition
          AND next_fire_at > coalesce(p.watermark, '-infinity')
          AND next_fire_at <= c.now - :late::interval
        LIMIT :most::integer
    ) AS counted
) AS late

-- name: queues
-- The first run waits since it was put on the queue: so says its rank without the head start of its
-- priority. A rank that lies ahead, where its team has had its share, is nobody's delay yet.
WITH RECURSIVE heads AS (
    -- include: queue_heads
)
SELECT h.pool, depth.queued,
       greatest(
           r.claimed_at,
           least(
               coalesce(:now::timestamptz, clock_timestamp()),
               to_timestamp(h.rank / 1000000.0)
                   + make_interval(secs => (:head_starts_s::integer[])[r.priority + 1])
           )
       ) AS queued_since
FROM (SELECT * FROM heads LIMIT 1000) AS h
JOIN runs r ON r.id = h.run_id AND r.due_at = h.due_at
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS queued
    FROM (SELECT FROM dispatch WHERE pool = h.pool LIMIT :most::integer) AS counted
) AS depth

-- name: served
-- With those that ended a short time ago: since they are gone, nobody may be there.
SELECT pool,
       count(*) FILTER (
           WHERE ended_at IS NULL
             AND heartbeat_at >= coalesce(:now::timestamptz, clock_timestamp()) - :silent::interval
       )::integer AS executors,
       max(heartbeat_at) AS heard_at
FROM executors
CROSS JOIN LATERAL unnest(pools) AS pool
GROUP BY pool
LIMIT 1000

-- name: failing_channels
-- By channels_failing.
SELECT t.name || '/' || c.name AS name, c.failing_since, c.failure
FROM channels c
JOIN teams t ON t.id = c.team_id
WHERE c.failing_since IS NOT NULL
ORDER BY c.failing_since
LIMIT 20

-- name: counts
-- Of dead letters by dead_letters_open.
SELECT count(*) FILTER (WHERE cause <> 'retry')::integer AS waiting,
       count(*) FILTER (WHERE cause = 'retry')::integer AS retrying,
       (
           SELECT count(*)
           FROM (
               SELECT run_id
               FROM handouts
               CROSS JOIN LATERAL unnest(run_ids) AS held (run_id)
               LIMIT :most::integer
           ) AS held
           JOIN runs r ON r.id = held.run_id AND r.due_at = run_due_at(held.run_id)
           WHERE r.state = 'running'
       )::integer AS running,
       (
           SELECT count(*) FROM (SELECT FROM dispatch LIMIT :most) AS counted
       )::integer AS queued,
       (
           SELECT count(*)
           FROM (SELECT FROM dead_letters WHERE dismissed_at IS NULL LIMIT :most) AS counted
       )::integer AS dead_letters
FROM (SELECT cause FROM waiting LIMIT :most) AS counted
