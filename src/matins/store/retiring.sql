-- Days that are over leave the tables of those who claim, hand out and record. DAY stands for the
-- day's digits in the names of its tables.

-- name: over
-- A due time of yesterday may still be claimed or tried again often, so it stays.
SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day
FROM pg_inherits i
JOIN pg_class c ON c.oid = i.inhrelid
CROSS JOIN (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
WHERE i.inhparent = 'runs'::regclass
  AND to_date(right(c.relname, 8), 'YYYYMMDD') < (clock.now AT TIME ZONE 'UTC')::date - 1
  AND clock.now >= (SELECT moves_from FROM history)
ORDER BY day

-- name: is_open
SELECT day_is_open(:day::date) AS is_open

-- name: bound
SELECT bound_day(:day::date)

-- name: validate_runs
ALTER TABLE runs_DAY VALIDATE CONSTRAINT day

-- name: validate_attempts
ALTER TABLE attempts_DAY VALIDATE CONSTRAINT day

-- name: broken_indexes
-- What an attempt left behind that was cut off.
SELECT indexrelid::regclass::text AS name
FROM pg_index
WHERE indrelid = to_regclass(:name::text) AND NOT indisvalid

-- name: has_team_index
SELECT EXISTS (
    SELECT FROM pg_index
    WHERE indrelid = to_regclass(:name::text) AND pg_get_indexdef(indexrelid) LIKE '%(team_id, id)'
) AS has_index

-- name: index_state
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_DAY_state ON runs_DAY (state, id)
    WHERE state <> 'succeeded'

-- name: index_team
-- Tables of a version before lack it.
CREATE INDEX CONCURRENTLY IF NOT EXISTS runs_DAY_team ON runs_DAY (team_id, id)

-- name: retire
SELECT retire_day(:day::date) AS retired
