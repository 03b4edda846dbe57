-- What a preview has to know of a job.

-- name: subject
SELECT j.id, j.spec::text AS spec, j.anchor, j.since, j.overrides::text AS overrides,
       j.calendars, j.next_due_at
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'
