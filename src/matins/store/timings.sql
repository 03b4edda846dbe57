-- name: calendars
-- By the primary key.
SELECT id, resolved::text AS resolved FROM calendars WHERE id = ANY (:ids::integer[])
