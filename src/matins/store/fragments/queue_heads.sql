-- The first run of each pool's queue: a step in the primary key for each pool that has any.
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
