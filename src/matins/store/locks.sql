-- name: lock
SELECT pg_try_advisory_lock(hashtext('matins.' || :work::text)) AS locked

-- name: unlock
SELECT pg_advisory_unlock(hashtext('matins.' || :work::text)) AS unlocked
