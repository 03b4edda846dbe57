-- Maintenance windows of teams. Each change counts up the revision of the team's rules, by which runs
-- are admitted: what was decided by an older one does not hold.

-- name: lock
SELECT w.id, w.name, w.starts_at, w.ends_at, w.policy, w.labels::text AS labels, w.why,
       -- include: held
       AS held
FROM windows w
JOIN teams t ON t.id = w.team_id
WHERE t.name = :team AND w.name = :name
FOR UPDATE OF w

-- name: changes
UPDATE teams SET rules_revision = rules_revision + 1 WHERE name = :team

-- name: count
-- By windows_team.
SELECT count(*) AS count
FROM windows w
JOIN teams t ON t.id = w.team_id
WHERE t.name = :team
  AND w.name <> :name
  AND w.ends_at > coalesce(:now::timestamptz, clock_timestamp())

-- name: insert
INSERT INTO windows (team_id, name, policy, labels, starts_at, ends_at, why, made_at)
SELECT id, :name, :policy, :labels::jsonb, :starts_at::timestamptz, :ends_at::timestamptz, :why,
       coalesce(:now::timestamptz, clock_timestamp())
FROM teams
WHERE name = :team
ON CONFLICT (team_id, name) DO NOTHING
RETURNING id

-- name: update
UPDATE windows
SET policy = :policy, labels = :labels::jsonb, starts_at = :starts_at, ends_at = :ends_at,
    why = :why
WHERE id = :id
RETURNING id

-- name: drop
DELETE FROM windows WHERE id = :id

-- name: forget
DELETE FROM windows WHERE ends_at <= :before::timestamptz

-- name: covered
-- By jobs_name. Those without a schedule have no scheduled runs.
SELECT count(*) AS count
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team
  AND j.state <> 'deleted'
  AND j.schedule IS NOT NULL
  AND coalesce(j.spec -> 'labels', '{}') @> :labels::jsonb

-- name: kept
-- By windows_team.
SELECT w.name, w.starts_at, w.ends_at, w.policy, w.labels::text AS labels, w.why, w.made_at,
       -- include: held
       AS held
FROM windows w
JOIN teams t ON t.id = w.team_id
WHERE t.name = :team
  AND (:name::text IS NULL OR w.name = :name)
  AND w.ends_at > :after::timestamptz
ORDER BY w.starts_at, w.name
LIMIT 1000

-- name: between
SELECT w.name, w.starts_at, w.ends_at, w.policy, w.labels::text AS labels, w.why
FROM windows w
JOIN teams t ON t.id = w.team_id
WHERE t.name = :team
  AND w.ends_at > :since::timestamptz
  AND w.starts_at < :until::timestamptz
  AND :labels::jsonb @> w.labels
ORDER BY w.starts_at, w.name
