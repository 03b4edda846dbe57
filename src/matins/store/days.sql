-- The daily tables of runs and attempts. DAY stands for a day's digits in the names of its tables.

-- name: ensure_days
SELECT count(*) FILTER (WHERE ensure_day(day::date))::integer AS made
FROM generate_series(:first::date, :last::date, interval '1 day') AS day

-- name: today
SELECT (coalesce(:now::timestamptz, clock_timestamp()) AT TIME ZONE 'UTC')::date AS today

-- name: days_over
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

-- name: detach
SELECT retire_day(:day::date) AS detached

-- name: past_days
-- Days of the history; those in `runs` still have something that is not over.
SELECT d.day
FROM days d
JOIN pg_inherits i ON i.inhrelid = to_regclass(day_table('runs', d.day))
WHERE d.day < :before::date AND i.inhparent = 'past_runs'::regclass
ORDER BY d.day

-- name: drop
SELECT drop_day(:day::date)
