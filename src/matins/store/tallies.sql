-- What has happened in each minute. One row a minute, whatever the number of processes.

-- name: add
WITH clock AS MATERIALIZED (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now),
old AS (DELETE FROM tallies USING clock WHERE minute < clock.now - :kept::interval)
INSERT INTO tallies AS t
    (minute, claimed, skipped, missed, started, succeeded, failed, dead, lags)
SELECT date_trunc('minute', clock.now), :claimed::bigint, :skipped::bigint, :missed::bigint,
       :started::bigint, :succeeded::bigint, :failed::bigint, :dead::bigint, :lags::bigint[]
FROM clock
ON CONFLICT (minute) DO UPDATE
SET claimed = t.claimed + excluded.claimed, skipped = t.skipped + excluded.skipped,
    missed = t.missed + excluded.missed, started = t.started + excluded.started,
    succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed,
    dead = t.dead + excluded.dead,
    lags = ARRAY(
        SELECT coalesce(told, 0) + coalesce(more, 0)
        FROM unnest(t.lags, excluded.lags) WITH ORDINALITY AS class (told, more, place)
        ORDER BY place
    )

-- name: minutes
-- By the key.
SELECT minute, claimed, skipped, missed, started, succeeded, failed, dead, lags
FROM tallies
WHERE minute >= :since::timestamptz
ORDER BY minute

-- name: total
-- By the key: up to 1440 rows a day. Of lags, those of each class.
WITH day AS MATERIALIZED (
    SELECT * FROM tallies WHERE minute >= :since::timestamptz
)
SELECT coalesce(sum(claimed), 0)::bigint AS claimed, coalesce(sum(skipped), 0)::bigint AS skipped,
       coalesce(sum(missed), 0)::bigint AS missed, coalesce(sum(started), 0)::bigint AS started,
       coalesce(sum(succeeded), 0)::bigint AS succeeded, coalesce(sum(failed), 0)::bigint AS failed,
       coalesce(sum(dead), 0)::bigint AS dead,
       ARRAY(
           SELECT sum(counted)::bigint
           FROM day d CROSS JOIN LATERAL unnest(d.lags) WITH ORDINALITY AS class (counted, place)
           GROUP BY place
           ORDER BY place
       ) AS lags
FROM day

-- name: known
SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now,
       (SELECT min(minute) FROM tallies) AS since
