-- A lease is the row of its holder in `schedulers`; the fence is the row of each partition, with
-- holder and epoch. What somebody else has locked is passed over, and is found again by the next
-- renewal: that frees all that is the holder's and that the holder does not name.

-- name: renew
-- before: a lease that has run out is not prolonged: it begins anew, with no partition in it.
-- stray: what the holder does not know to be its own, because an answer was lost.
WITH before AS MATERIALIZED (
    -- include: lease_before
),
kept AS MATERIALIZED (
    SELECT p.partition
    FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = :holder AND p.epoch = h.epoch AND EXISTS (SELECT FROM before WHERE in_force)
),
lease AS (
    INSERT INTO schedulers AS s (
        id, renewed_at, expires_at, since, name, version, wheel_size, clock_offset_s, lag_s
    )
    SELECT :holder, coalesce(:now, clock_timestamp()),
           coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s::float8),
           coalesce(:now, clock_timestamp()),
           :name::text, :version::text, :wheel_size::integer, :clock_offset_s::float8, :lag_s::float8
    FROM (SELECT count(*) FROM before) AS locked
    ON CONFLICT (id) DO UPDATE
    SET renewed_at = excluded.renewed_at,
        expires_at = excluded.expires_at,
        since = coalesce(s.since, excluded.since),
        name = excluded.name,
        version = excluded.version,
        (wheel_size, clock_offset_s, lag_s) =
            (excluded.wheel_size, excluded.clock_offset_s, excluded.lag_s),
        watermark = greatest(
            (SELECT watermark FROM before WHERE in_force),
            (SELECT :watermark::timestamptz FROM before WHERE in_force)
        ),
        settled = CASE WHEN :watermark >= coalesce(
                                (SELECT watermark FROM before WHERE in_force), '-infinity'
                            )
                       THEN array(SELECT partition FROM kept)
                       ELSE coalesce((SELECT settled FROM before WHERE in_force), '{}') END
    RETURNING renewed_at
),
stray AS (
    SELECT partition
    FROM partitions
    WHERE holder = :holder AND NOT partition = ANY (array(SELECT partition FROM kept))
    ORDER BY partition
    FOR NO KEY UPDATE SKIP LOCKED
),
freed AS (
    -- include: freed_strays
)
SELECT array(SELECT partition FROM kept) AS kept,
       (SELECT renewed_at FROM before) AS renewed_before,
       (SELECT renewed_at FROM lease) AS renewed_at

-- name: acquire
-- distrusted: such a lease is deleted, or it would come to life once the clock has caught up.
-- stray: what more there was in its own that has run out: it must not come to life again.
WITH mine AS MATERIALIZED (
    SELECT expires_at > coalesce(:now::timestamptz, clock_timestamp()) AS in_force
    FROM schedulers
    WHERE id = :holder::uuid
),
free AS (
    -- include: free_partitions
),
gained AS (
    UPDATE partitions p
    SET epoch = p.epoch + 1, holder = :holder, expires_at = 'infinity', watermark = l.watermark,
        offered = false, successor = NULL, is_ready = false
    FROM free
    JOIN leases l ON l.partition = free.partition
    WHERE p.partition = free.partition
    RETURNING p.partition, p.epoch
),
distrusted AS (
    DELETE FROM schedulers
    WHERE expires_at > coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s)
      AND id <> :holder
),
stray AS (
    SELECT partition
    FROM partitions
    WHERE holder = :holder
      AND NOT EXISTS (SELECT FROM mine WHERE in_force)
      AND NOT partition = ANY (array(SELECT partition FROM free))
    ORDER BY partition
    FOR NO KEY UPDATE SKIP LOCKED
),
freed AS (
    -- include: freed_strays
),
lease AS (
    INSERT INTO schedulers AS s (id, renewed_at, expires_at, since)
    SELECT :holder, coalesce(:now, clock_timestamp()),
           coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s),
           coalesce(:now, clock_timestamp())
    WHERE EXISTS (SELECT FROM gained)
    ON CONFLICT (id) DO UPDATE
    SET renewed_at = excluded.renewed_at,
        expires_at = excluded.expires_at,
        watermark = CASE WHEN EXISTS (SELECT FROM mine WHERE in_force) THEN s.watermark END,
        settled = CASE WHEN EXISTS (SELECT FROM mine WHERE in_force) THEN s.settled
                       ELSE '{}' END
    RETURNING renewed_at
)
SELECT partition, epoch, (SELECT renewed_at FROM lease) FROM gained

-- name: release
WITH held AS (
    SELECT p.partition
    FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = :holder::uuid AND p.epoch = h.epoch
    ORDER BY p.partition
    FOR NO KEY UPDATE OF p SKIP LOCKED
),
last AS MATERIALIZED (
    SELECT NOT EXISTS (
        SELECT FROM partitions WHERE holder = :holder AND NOT partition = ANY (:partitions)
    ) AS is_last
),
freed AS (
    UPDATE partitions p
    SET holder = NULL, expires_at = NULL, watermark = l.watermark, offered = false
    FROM held
    JOIN leases l ON l.partition = held.partition
    WHERE p.partition = held.partition
),
left_for_good AS (
    DELETE FROM schedulers WHERE id = :holder AND (SELECT is_last FROM last)
),
less AS (
    UPDATE schedulers
    SET settled = array(SELECT unnest(settled) EXCEPT SELECT unnest(:partitions))
    WHERE id = :holder AND NOT (SELECT is_last FROM last)
)
SELECT is_last FROM last

-- name: retire
-- For a holder whose process has ended. A partition that is locked now is free all the same, since
-- its lease is gone.
WITH held AS (
    SELECT partition
    FROM partitions
    WHERE holder = :holder::uuid
    ORDER BY partition
    FOR NO KEY UPDATE SKIP LOCKED
),
left_for_good AS (
    DELETE FROM schedulers WHERE id = :holder
)
UPDATE partitions p
SET holder = NULL, expires_at = NULL, watermark = l.watermark, offered = false
FROM held
JOIN leases l ON l.partition = held.partition
WHERE p.partition = held.partition
RETURNING p.partition

-- name: offer
-- changed: what is offered now and was not, or the other way round.
WITH others AS MATERIALIZED (
    SELECT id FROM (
        -- include: alive
    ) AS alive
    WHERE id <> :holder::uuid
),
told AS (
    UPDATE schedulers SET leaving = :leaving::boolean WHERE id = :holder AND leaving <> :leaving
),
changed AS (
    SELECT partition
    FROM partitions
    WHERE holder = :holder AND offered <> (partition = ANY (:partitions::smallint[]))
    ORDER BY partition
    FOR NO KEY UPDATE SKIP LOCKED
),
marked AS (
    UPDATE partitions p
    SET offered = NOT p.offered, successor = NULL, is_ready = false
    FROM changed
    WHERE p.partition = changed.partition
)
SELECT (SELECT count(*) FROM others)::integer AS others,
       array(
           SELECT partition
           FROM partitions
           WHERE holder = :holder AND is_ready AND partition = ANY (:partitions)
             AND successor IN (SELECT id FROM others)
       ) AS ready

-- name: reserve
-- mine: with what was released meanwhile, and is to be acquired next.
WITH alive AS MATERIALIZED (
    -- include: alive
),
mine AS MATERIALIZED (
    SELECT partition, epoch, row_number() OVER (ORDER BY partition) AS place
    FROM partitions
    WHERE successor = :holder::uuid
),
-- include: given_up
open AS (
    SELECT partition
    FROM partitions
    WHERE offered
      AND holder <> :holder
      AND (successor IS NULL OR NOT successor IN (SELECT id FROM alive))
    ORDER BY partition
    LIMIT greatest(:count - (SELECT count(*) FROM mine), 0)
    FOR NO KEY UPDATE SKIP LOCKED
),
reserved AS (
    UPDATE partitions p
    SET successor = :holder, is_ready = false
    FROM open
    WHERE p.partition = open.partition
    RETURNING p.partition, p.epoch
),
loaded AS (
    SELECT partition
    FROM partitions
    WHERE successor = :holder AND NOT is_ready AND partition = ANY (:loaded::smallint[])
      AND NOT partition = ANY (array(SELECT partition FROM surplus))
    ORDER BY partition
    FOR NO KEY UPDATE SKIP LOCKED
),
readied AS (
    UPDATE partitions p
    SET is_ready = true
    FROM loaded
    WHERE p.partition = loaded.partition
)
SELECT partition, epoch + 1 AS epoch
FROM mine
WHERE NOT partition = ANY (array(SELECT partition FROM surplus))
UNION ALL
SELECT partition, epoch + 1 FROM reserved

-- name: count_alive
SELECT count(*)::integer AS alive FROM (
    -- include: alive
) AS alive
