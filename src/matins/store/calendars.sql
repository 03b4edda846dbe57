-- Calendars of teams. A row is one version; what replaces it is another.

-- name: current
-- By calendars_name, and how many jobs follow any version of it by jobs_calendars.
SELECT c.id, c.name, c.written::text AS written, c.resolved::text AS resolved, c.made_at,
       (SELECT count(*)
        FROM jobs j
        WHERE j.calendars && v.ids AND j.calendars <> '{}' AND j.state <> 'deleted') AS jobs
FROM calendars c
JOIN teams t ON t.id = c.team_id
CROSS JOIN LATERAL (
    SELECT array_agg(o.id) AS ids FROM calendars o WHERE o.team_id = c.team_id AND o.name = c.name
) AS v
WHERE t.name = :team
  AND c.name > :after::text
  AND (:name::text IS NULL OR c.name = :name)
  AND c.replaced_at IS NULL
ORDER BY c.name
LIMIT :limit

-- name: lock
-- The team, since a calendar's row is another one after each change: changes of a team's calendars
-- wait for each other, and for those who take one for a job (they share the lock).
SELECT id FROM teams WHERE name = :team FOR NO KEY UPDATE

-- name: replace
UPDATE calendars
SET replaced_at = coalesce(:now::timestamptz, clock_timestamp())
WHERE id = :id::integer

-- name: insert
INSERT INTO calendars (team_id, name, written, resolved, made_at)
SELECT id, :name, :written::jsonb, :resolved::jsonb, coalesce(:now::timestamptz, clock_timestamp())
FROM teams
WHERE name = :team
RETURNING id

-- name: behind
-- Active jobs that follow a version which was replaced; others take the current one as they go on.
SELECT j.id, j.name
FROM jobs j
WHERE NOT j.id = ANY (:besides::uuid[])
  AND j.calendars && (
    SELECT array_agg(c.id)
    FROM calendars c
    JOIN teams t ON t.id = c.team_id
    WHERE t.name = :team AND c.name = :name AND c.replaced_at IS NOT NULL
)
  AND j.calendars <> '{}'
  AND j.state = 'active'
ORDER BY j.id
LIMIT :limit

-- name: calendars_behind
SELECT DISTINCT t.name AS team, c.name
FROM calendars c
JOIN teams t ON t.id = c.team_id
WHERE c.replaced_at IS NOT NULL
  AND EXISTS (
      SELECT
      FROM jobs j
      WHERE j.calendars && ARRAY[c.id] AND j.calendars <> '{}' AND j.state = 'active'
  )
LIMIT :limit

-- name: users
SELECT j.name
FROM jobs j
WHERE j.calendars && (
    SELECT array_agg(c.id)
    FROM calendars c
    JOIN teams t ON t.id = c.team_id
    WHERE t.name = :team AND c.name = :name
)
  AND j.calendars <> '{}'
  AND j.state <> 'deleted'
ORDER BY j.name
LIMIT :limit

-- name: aged
-- What is resolved from holidays and from files reaches some years ahead. Oldest first.
SELECT t.name AS team, c.name
FROM calendars c
JOIN teams t ON t.id = c.team_id
WHERE c.replaced_at IS NULL
  AND c.written <> c.resolved
  AND coalesce(c.resolved_at, c.made_at)
      < coalesce(:now::timestamptz, clock_timestamp()) - interval '180 days'
ORDER BY coalesce(c.resolved_at, c.made_at)
LIMIT :limit

-- name: resolved
UPDATE calendars c
SET resolved_at = coalesce(:now::timestamptz, clock_timestamp())
FROM teams t
WHERE t.id = c.team_id AND t.name = :team AND c.name = :name AND c.replaced_at IS NULL
