-- name: oldest
-- Who is most likely in the way of a migration: the transactions that have lasted longest.
SELECT format(
           'session %s (%s of %s), open for %s s',
           pid, coalesce(nullif(application_name, ''), 'unnamed'), usename,
           extract(epoch FROM clock_timestamp() - xact_start)::integer
       ) AS told
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
ORDER BY xact_start
LIMIT 3

-- name: broken_indexes
SELECT c.relname AS name
FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid
WHERE NOT i.indisvalid AND c.relname = ANY (:names::text[])
