-- name: keep
SELECT keep::text AS keep FROM teams WHERE name = :team

-- name: put_keep
INSERT INTO teams (name, created_at, keep)
VALUES (:team, coalesce(:now::timestamptz, clock_timestamp()), :keep::jsonb)
ON CONFLICT (name) DO UPDATE SET keep = excluded.keep
