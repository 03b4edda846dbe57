-- name: keep
SELECT keep::text AS keep FROM teams WHERE name = :team

-- name: all
SELECT name, weight, created_at FROM teams ORDER BY name LIMIT 10000

-- name: find
-- By teams_name_key.
SELECT t.id, t.name, t.weight, t.created_at, c.channels, c.failing
FROM (
    SELECT *
    FROM teams
    WHERE name > :after::text AND position(:text::text IN name) > 0
    ORDER BY name
    LIMIT :limit
) AS t
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS channels, count(failing_since)::integer AS failing
    FROM channels
    WHERE team_id = t.id
) AS c
ORDER BY t.name

-- name: jobs
-- By jobs_name, or through all jobs where that is shorter.
SELECT team_id, count(*)::integer AS jobs,
       count(*) FILTER (WHERE state = 'paused')::integer AS paused
FROM jobs
WHERE team_id = ANY (:teams::integer[]) AND state <> 'deleted'
GROUP BY team_id

-- name: share
SELECT weight FROM teams WHERE name = :team

-- name: put_share
INSERT INTO teams (name, created_at, weight)
VALUES (:team, coalesce(:now::timestamptz, clock_timestamp()), :weight::integer)
ON CONFLICT (name) DO UPDATE SET weight = excluded.weight

-- name: output
SELECT output::text AS output FROM teams WHERE name = :team

-- name: put_output
INSERT INTO teams (name, created_at, output)
VALUES (:team, coalesce(:now::timestamptz, clock_timestamp()), :output::jsonb)
ON CONFLICT (name) DO UPDATE SET output = excluded.output

-- name: put_keep
INSERT INTO teams (name, created_at, keep)
VALUES (:team, coalesce(:now::timestamptz, clock_timestamp()), :keep::jsonb)
ON CONFLICT (name) DO UPDATE SET keep = excluded.keep
