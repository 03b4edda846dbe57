-- Schedulers and partitions as operators look at them.

-- name: schedulers
-- What ended without a word is left out once its lease ran out a day ago.
WITH clock AS MATERIALIZED (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now)
SELECT s.id, coalesce(s.name, '') AS name, coalesce(s.version, '') AS version,
       CASE WHEN s.expires_at <= c.now THEN 'gone' WHEN s.leaving THEN 'leaving' ELSE 'alive' END
           AS state,
       s.since,
       extract(epoch FROM c.now - s.renewed_at)::float8 AS lease_age_s,
       extract(epoch FROM s.expires_at - c.now)::float8 AS lease_left_s,
       held.partitions, held.min_epoch, held.max_epoch, held.watermark,
       s.wheel_size, s.clock_offset_s, s.lag_s
FROM clock c
CROSS JOIN schedulers s
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(partition::integer ORDER BY partition), '{}') AS partitions,
           min(epoch) AS min_epoch, max(epoch) AS max_epoch, min(l.watermark) AS watermark
    FROM leases l
    WHERE l.holder = s.id
) AS held
WHERE s.expires_at > c.now - interval '1 day'
ORDER BY s.since, s.id

-- name: without_holder
SELECT coalesce(
           array_agg(partition::integer ORDER BY partition)
               FILTER (WHERE holder IS NULL
                          OR expires_at <= coalesce(:now::timestamptz, clock_timestamp())),
           '{}'
       ) AS partitions,
       min(watermark) AS watermark
FROM leases
