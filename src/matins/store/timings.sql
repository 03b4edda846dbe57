-- name: calendars
-- By the primary key.
SELECT id, resolved::text AS resolved FROM calendars WHERE id = ANY (:ids::integer[])

-- name: current
-- By calendars_name.
SELECT c.id, c.name
FROM calendars c
JOIN teams t ON t.id = c.team_id
WHERE t.name = :team AND c.name = ANY (:names::text[]) AND c.replaced_at IS NULL

-- name: keep
-- Who changes a calendar of the team waits for us, and sees the jobs that took it; or we wait for
-- them, and what we read afterwards is the new one.
SELECT id FROM teams WHERE name = :team FOR SHARE
