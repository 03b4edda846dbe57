-- Next due times follow the zone data that this process has.

-- name: computed_with
SELECT z.version, z.computed_at, c.now
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS c
LEFT JOIN zone_data z ON true

-- name: record_version
-- Never back to older data: two versions may be at work during a roll-out.
INSERT INTO zone_data (version, computed_at)
VALUES (:version::text, coalesce(:now::timestamptz, clock_timestamp()))
ON CONFLICT (single) DO UPDATE
SET version = excluded.version, computed_at = excluded.computed_at
WHERE zone_data.version COLLATE "C" <= excluded.version
RETURNING version

-- name: jobs_ahead
-- By the primary key. What is due already goes on by the new rules after its claim; what follows
-- the end of a run is computed when that run ends.
SELECT j.id, t.name AS team, j.name, j.revision, j.schedule::text AS schedule, j.anchor, j.since,
       j.overrides::text AS overrides, j.calendars, j.changed_at, j.next_due_at, j.next_fire_at
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE j.id > :after::uuid
  AND j.state = 'active'
  AND j.next_due_at > :at::timestamptz
  AND j.follows IS NULL
ORDER BY j.id
LIMIT :limit

-- name: correct
-- The clock is read now: what has come due since the page was read is left alone, and schedulers
-- find the new revision by its instant.
WITH clock AS MATERIALIZED (
    SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now
),
corrected AS (
    UPDATE jobs j
    SET revision = j.revision + 1,
        changed_at = greatest(j.changed_at, (SELECT now FROM clock)),
        next_due_at = c.next_due_at,
        next_fire_at = c.next_fire_at
    FROM unnest(
        :job_ids::uuid[], :revisions::integer[], :was_due_ats::timestamptz[],
        :next_due_ats::timestamptz[], :next_fire_ats::timestamptz[]
    ) AS c (job_id, revision, was_due_at, next_due_at, next_fire_at)
    WHERE j.id = c.job_id
      AND j.revision = c.revision
      AND j.state = 'active'
      AND j.next_due_at = c.was_due_at
      AND least(j.next_due_at, c.next_due_at) > (SELECT now FROM clock)
    RETURNING j.*
),
noted AS (
    INSERT INTO revisions (
        job_id, revision, partition, effective_at, state, anchor, spec, since, overrides, calendars,
        changed_by, change_reason
    )
    SELECT id, revision, partition, changed_at, state, anchor, spec, since, overrides, calendars,
           :author::text, 'zone data'
    FROM corrected
)
SELECT id, wake_chains(id, next_due_at) FROM corrected
