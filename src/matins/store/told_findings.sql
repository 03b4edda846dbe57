-- What operators were told of each finding. A few rows, found by the key.

-- name: bad
-- All that are bad: the table has a row for each pool at most that was ever wrong of late.
WITH clock AS MATERIALIZED (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now),
seen AS (
    UPDATE told_findings f
    SET seen_at = clock.now
    FROM clock, unnest(:kinds::text[], :subjects::text[]) AS found (kind, subject)
    WHERE f.kind = found.kind AND f.subject = found.subject
      AND f.is_bad AND f.seen_at < clock.now - interval '1 second'
)
SELECT kind, subject, turned_at, reason, told_at IS NOT NULL AS is_told
FROM told_findings
WHERE is_bad AND kind = ANY (:known_kinds::text[])

-- name: take
-- A turn is taken by whoever comes first, and again when its taker has not told it in time. One seen
-- before the last is no news. What turns well is taken when nobody has found it bad for a while. In
-- the order of the key, so that two who take at once don't wait for each other.
WITH clock AS MATERIALIZED (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now),
seen AS MATERIALIZED (
    SELECT turn.*, f.is_bad AS was_bad, f.turned_at, f.told_at
    FROM unnest(:kinds::text[], :subjects::text[], :bads::boolean[], :ats::timestamptz[],
                :reasons::text[]) AS turn (kind, subject, is_bad, at, reason)
    LEFT JOIN told_findings f USING (kind, subject)
),
taken AS (
    INSERT INTO told_findings AS f
        (kind, subject, is_bad, turned_at, reason, seen_at, taken_until)
    SELECT kind, subject, is_bad, at, reason, clock.now, clock.now + :lease::interval
    FROM seen CROSS JOIN clock
    WHERE is_bad OR was_bad
    ORDER BY kind, subject
    ON CONFLICT (kind, subject) DO UPDATE
    SET is_bad = excluded.is_bad, reason = excluded.reason, taken_until = excluded.taken_until,
        turned_at = CASE WHEN f.is_bad = excluded.is_bad THEN f.turned_at
                         ELSE excluded.turned_at END,
        seen_at = CASE WHEN excluded.is_bad THEN excluded.seen_at ELSE f.seen_at END,
        told_at = NULL
    WHERE CASE
        WHEN f.is_bad = excluded.is_bad
            THEN f.told_at IS NULL AND f.taken_until <= excluded.seen_at
        WHEN excluded.is_bad THEN f.turned_at < excluded.turned_at
        ELSE f.turned_at < excluded.turned_at AND f.seen_at <= excluded.seen_at - :quiet::interval
    END
    RETURNING kind, subject
)
SELECT kind, subject, taken.kind IS NOT NULL AS is_mine, CASE
    WHEN was_bad IS NULL THEN NOT seen.is_bad
    WHEN was_bad = seen.is_bad THEN told_at IS NOT NULL
    ELSE turned_at >= at
END AS is_settled
FROM seen LEFT JOIN taken USING (kind, subject)

-- name: release
UPDATE told_findings f
SET taken_until = coalesce(:now::timestamptz, clock_timestamp())
FROM unnest(:kinds::text[], :subjects::text[]) AS taken (kind, subject)
WHERE f.kind = taken.kind AND f.subject = taken.subject AND f.told_at IS NULL

-- name: told
-- What has long been over is forgotten.
WITH clock AS MATERIALIZED (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now),
old AS (
    DELETE FROM told_findings USING clock
    WHERE NOT is_bad AND told_at < clock.now - interval '1 day'
)
UPDATE told_findings f
SET told_at = clock.now
FROM clock, unnest(:kinds::text[], :subjects::text[]) AS told (kind, subject)
WHERE f.kind = told.kind AND f.subject = told.subject AND f.is_bad = :is_bad::boolean
