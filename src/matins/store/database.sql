-- name: clock
SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now

-- name: make_team
-- Looked for beforehand: what meets a conflict has drawn a number for its id, of which there are few.
INSERT INTO teams (name, created_at)
SELECT :team, coalesce(:now::timestamptz, clock_timestamp())
WHERE NOT EXISTS (SELECT FROM teams WHERE name = :team)
ON CONFLICT (name) DO NOTHING

-- name: writable
-- Refused where nothing can be written; locks and changes nothing.
UPDATE partitions SET epoch = epoch WHERE partition = -1 RETURNING partition
