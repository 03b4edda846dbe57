-- name: lock
-- Who holds it and stands still loses its session. Who does not hold it sets nothing.
SELECT taken.locked, CASE
    WHEN taken.locked THEN set_config('idle_session_timeout', :idle_ms::text, false)
END AS idle
FROM (SELECT pg_try_advisory_lock(hashtext('matins.' || :work::text)) AS locked OFFSET 0) AS taken

-- name: hold
SELECT true AS held

-- name: unlock
SELECT pg_advisory_unlock(hashtext('matins.' || :work::text)) AS unlocked,
       set_config('idle_session_timeout', '0', false) AS idle
