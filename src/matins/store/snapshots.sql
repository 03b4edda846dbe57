-- name: oldest_snapshot
-- Who holds the oldest snapshot of this database: no older version of any row can go before it ends.
-- A session's times are not told to everybody, its snapshot is.
SELECT holder, since, coalesce(:now::timestamptz, clock_timestamp()) AS now, xmin
FROM (
    SELECT concat_ws(
               ' ', 'session', pid, '(' || nullif(application_name, '') || ')',
               'of ' || usename, 'from ' || host(client_addr), nullif(state, '')
           ) AS holder,
           xact_start AS since, backend_xmin::text AS xmin, age(backend_xmin) AS age
    FROM pg_stat_activity
    WHERE backend_xmin IS NOT NULL
      AND pid <> pg_backend_pid()
      AND (datname IS NULL OR datname = current_database())
    UNION ALL
    SELECT 'prepared transaction ' || gid, prepared, transaction::text, age(transaction)
    FROM pg_prepared_xacts
    WHERE database = current_database()
    UNION ALL
    SELECT 'replication slot ' || slot_name, NULL, xmin::text, age(xmin)
    FROM pg_replication_slots
    WHERE xmin IS NOT NULL
) AS holders
ORDER BY age DESC, holder
LIMIT 1
