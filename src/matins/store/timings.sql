-- name: calendars
-- By the primary key.
SELECT id, resolved::text AS resolved FROM calendars WHERE id = ANY (:ids::integer[])

-- name: current
-- By calendars_name.
SELECT c.id, c.name
FROM calendars c
JOIN teams t ON t.id = c.team_id
WHERE t.name = :team AND c.name = ANY (:names::text[]) AND c.replaced_at IS NULL

-- name: lock_current
-- By calendars_name. A share lock: who replaces one sees the jobs that took it, or they see the new.
SELECT c.id, c.name
FROM calendars c
JOIN teams t ON t.id = c.team_id
WHERE t.name = :team AND c.name = ANY (:names::text[]) AND c.replaced_at IS NULL
FOR SHARE OF c
