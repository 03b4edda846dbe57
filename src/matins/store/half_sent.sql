-- Sessions that are stuck in the middle of a statement.

-- name: end
-- Only sessions of our own user, which everybody may end. From PostgreSQL 17 on nothing is looked at.
SELECT a.pid, a.application_name, pg_terminate_backend(a.pid) AS is_ended
FROM unnest(:names::text[], :bounds_s::float8[]) AS pool (name, bound_s)
JOIN pg_stat_activity a ON a.application_name = pool.name
WHERE current_setting('server_version_num')::integer < 170000
  AND a.datname = current_database()
  AND a.usename = current_user
  AND a.xact_start < coalesce(:now::timestamptz, clock_timestamp())
                   - make_interval(secs => pool.bound_s)
