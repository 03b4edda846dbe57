-- Links by which a browser is signed in once.

-- name: keep
-- Those that nobody has used go with it: there are never more than were made within their time.
WITH expired AS (
    DELETE FROM sign_in_links WHERE expires_at < coalesce(:now::timestamptz, clock_timestamp())
)
INSERT INTO sign_in_links (code_hash, principal, expires_at)
VALUES (
    :code_hash::bytea, :principal,
    coalesce(:now::timestamptz, clock_timestamp()) + :lasts::interval
)
RETURNING expires_at

-- name: use
-- By the primary key. Of two who come at once, one gets it.
DELETE FROM sign_in_links
WHERE code_hash = :code_hash::bytea
  AND expires_at >= coalesce(:now::timestamptz, clock_timestamp())
RETURNING principal
