-- Maintenance windows of teams. Each change counts up the revision of the team's rules, by which runs
-- are admitted: what was decided by an older one does not hold.

-- name: lock
SELECT t.id AS team_id, coalesce(:now::timestamptz, clock_timestamp()) AS now, (
    SELECT (
        -- include: held
    )
    FROM (SELECT t.id AS team_id, :name::text AS name) AS w
) AS held
FROM teams t
WHERE t.name = :team
FOR NO KEY UPDATE OF t

-- name: found
-- By windows_team, and by the unique key (team_id, name).
SELECT
    -- include: window_columns
FROM windows w
WHERE w.team_id = :team_id AND w.ends_at > :now::timestamptz
UNION ALL
SELECT
    -- include: window_columns
FROM windows w
WHERE w.team_id = :team_id AND w.name = :name AND w.ends_at <= :now

-- name: write
INSERT INTO windows (team_id, name, policy, labels, starts_at, ends_at, reason, made_at)
VALUES (
    :team_id, :name, :policy, :labels::jsonb, :starts_at::timestamptz, :ends_at::timestamptz,
    :reason, :now::timestamptz
)
ON CONFLICT (team_id, name) DO UPDATE
SET policy = excluded.policy, labels = excluded.labels, starts_at = excluded.starts_at,
    ends_at = excluded.ends_at, reason = excluded.reason

-- name: delete
DELETE FROM windows WHERE team_id = :team_id AND name = :name

-- name: revise
UPDATE teams SET rules_revision = rules_revision + 1 WHERE id = :team_id

-- name: forget
DELETE FROM windows WHERE ends_at <= :before::timestamptz

-- name: count_covered
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
SELECT
    -- include: window_columns
    , w.made_at, (
        -- include: held
    ) AS held
FROM windows w
JOIN teams t ON t.id = w.team_id
WHERE t.name = :team
  AND (:name::text IS NULL OR w.name = :name)
  AND w.ends_at > :after::timestamptz
ORDER BY w.starts_at, w.name
LIMIT 1000

-- name: between
SELECT
    -- include: window_columns
FROM windows w
JOIN teams t ON t.id = w.team_id
WHERE t.name = :team
  AND w.ends_at > :since::timestamptz
  AND w.starts_at < :until::timestamptz
  AND :labels::jsonb @> w.labels
ORDER BY w.starts_at, w.name

-- name: soon
-- By windows_team of each team in turn: in force or to come, of a team or of all.
SELECT t.name AS team,
    -- include: window_columns
FROM windows w
JOIN teams t ON t.id = w.team_id
WHERE (:team::text = '' OR t.name = :team)
  AND w.ends_at > coalesce(:now::timestamptz, clock_timestamp())
ORDER BY w.starts_at, t.name, w.name
LIMIT :limit
