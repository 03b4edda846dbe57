-- name: clock
SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now

-- name: make_team
INSERT INTO teams (name, created_at)
VALUES (:team, coalesce(:now::timestamptz, clock_timestamp()))
ON CONFLICT (name) DO NOTHING
