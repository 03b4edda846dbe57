-- name: ensure_days
SELECT count(*) FILTER (WHERE ensure_day(day::date))::integer AS made
FROM generate_series(:first::date, :last::date, interval '1 day') AS day

-- name: today
SELECT (coalesce(:now::timestamptz, clock_timestamp()) AT TIME ZONE 'UTC')::date AS today
