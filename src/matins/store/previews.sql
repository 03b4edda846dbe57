-- What a preview has to know of a job and of its team's calendars.

-- name: subject
SELECT j.id, j.spec::text AS spec, j.anchor, j.since, j.exemptions::text AS exemptions,
       j.calendars, j.next_due_at
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'

-- name: current_calendars
-- By calendars_name.
SELECT c.id, c.name
FROM calendars c
JOIN teams t ON t.id = c.team_id
WHERE t.name = :team AND c.name = ANY (:names::text[]) AND c.replaced_at IS NULL
