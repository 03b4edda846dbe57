-- name: clock
SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now

-- name: make_team
INSERT INTO teams (name, created_at)
VALUES (:team, coalesce(:now::timestamptz, clock_timestamp()))
ON CONFLICT (name) DO NOTHING

-- name: writable
-- Refused where nothing can be written; locks and changes nothing.
UPDATE partitions SET epoch = epoch WHERE partition = -1 RETURNING partition
