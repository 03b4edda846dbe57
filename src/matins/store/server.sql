-- What is asked in a new session: which server it leads to. Below PostgreSQL 17 there is
-- no `transaction_timeout`.

-- name: meet
SELECT pg_backend_pid() AS pid,
       pg_postmaster_start_time() AS started_at,
       (SELECT system_identifier FROM pg_control_system()) AS system,
       ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint AS timeline,
       (
           SELECT set_config(name, :transaction_timeout::text, false)
           FROM pg_settings
           WHERE name = 'transaction_timeout'
       )

-- name: meet_briefly
SELECT pg_backend_pid() AS pid,
       pg_postmaster_start_time() AS started_at,
       NULL::bigint AS system,
       NULL::bigint AS timeline,
       (
           SELECT set_config(name, :transaction_timeout::text, false)
           FROM pg_settings
           WHERE name = 'transaction_timeout'
       )
