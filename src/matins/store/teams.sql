-- name: keep
SELECT keep::text AS keep FROM teams WHERE name = :team

-- name: all
SELECT name, weight, created_at FROM teams ORDER BY name LIMIT 10000

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
