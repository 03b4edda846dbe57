-- The queues of pools as a whole: how fast they go on, and how teams share them.

-- name: read
-- Pools, and by teams_weighted the teams that have another weight than most, in one answer.
(
    SELECT pool, gap_s, reached, emptied_at, NULL::integer AS team_id, NULL::integer AS weight
    FROM pools
    LIMIT 10000
)
UNION ALL
(
    SELECT NULL, NULL, NULL, NULL, id, weight FROM teams WHERE weight <> 1 LIMIT 10000
)

-- name: noted
-- What was noted of pools before, and the first rank on the queue, by the primary key.
SELECT given.pool, p.gap_s, p.reached, head.rank, clock.now,
       extract(epoch FROM clock.now - p.noted_at)::float8 AS since_s
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN unnest(:pools::text[], :fronts::bigint[]) AS given (pool, front)
LEFT JOIN pools p ON p.pool = given.pool
LEFT JOIN LATERAL (
    SELECT rank
    FROM dispatch
    WHERE dispatch.pool = given.pool AND rank >= given.front
    ORDER BY rank
    LIMIT 1
) AS head ON true

-- name: note
-- Another gateway may have written since it was read: then the newer measurement stays.
INSERT INTO pools AS p (pool, gap_s, reached, emptied_at, noted_at)
SELECT pool, gap_s, reached, CASE WHEN reached IS NULL THEN :at::timestamptz END, :at
FROM unnest(:pools::text[], :gaps_s::float8[], :reached::bigint[]) AS n (pool, gap_s, reached)
ON CONFLICT (pool) DO UPDATE
SET gap_s = excluded.gap_s,
    reached = excluded.reached,
    emptied_at = coalesce(excluded.emptied_at, p.emptied_at),
    noted_at = excluded.noted_at
WHERE p.noted_at <= excluded.noted_at
