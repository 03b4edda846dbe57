-- Rows are always locked in the order of their partition, here and in the claims, so that none of
-- these statements can wait for each other in a ring.

-- name: renew
-- The new end is computed once the row is locked, so that a long wait grants no less time.
WITH alive AS (
    INSERT INTO schedulers (id, renewed_at)
    VALUES (:holder::uuid, coalesce(:now::timestamptz, clock_timestamp()))
    ON CONFLICT (id) DO UPDATE SET renewed_at = excluded.renewed_at
),
held AS (
    SELECT p.partition
    FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = :holder
      AND p.epoch = h.epoch
      AND p.expires_at > coalesce(:now, clock_timestamp())
    ORDER BY p.partition
    FOR NO KEY UPDATE OF p
)
UPDATE partitions p
SET expires_at = coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s::float8),
    watermark = greatest(p.watermark, :watermark::timestamptz)
FROM held
WHERE p.partition = held.partition
RETURNING p.partition

-- name: acquire
-- A lease that ends later than one granted now was granted before the clock went back: it is free,
-- or nobody could take over from a dead holder for as long as the clock went back.
WITH free AS (
    SELECT partition
    FROM partitions
    WHERE holder IS NULL
       OR expires_at <= coalesce(:now::timestamptz, clock_timestamp())
       OR expires_at > coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s::float8)
    ORDER BY partition
    LIMIT :count
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE partitions p
SET epoch = p.epoch + 1,
    holder = :holder::uuid,
    expires_at = coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s::float8)
FROM free
WHERE p.partition = free.partition
RETURNING p.partition, p.epoch

-- name: release
WITH held AS (
    SELECT p.partition
    FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = :holder::uuid AND p.epoch = h.epoch
    ORDER BY p.partition
    FOR NO KEY UPDATE OF p
),
left_for_good AS (
    DELETE FROM schedulers s
    WHERE s.id = :holder
      AND NOT EXISTS (
          SELECT FROM partitions p
          WHERE p.holder = :holder AND NOT p.partition = ANY (:partitions)
      )
)
UPDATE partitions p
SET holder = NULL, expires_at = NULL
FROM held
WHERE p.partition = held.partition
RETURNING p.partition

-- name: alive
-- A sign of life from the future is from before the clock went back.
SELECT count(*)::integer AS alive
FROM schedulers
WHERE renewed_at > coalesce(:now::timestamptz, clock_timestamp()) - make_interval(secs => :ttl_s)
  AND renewed_at <= coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s)
