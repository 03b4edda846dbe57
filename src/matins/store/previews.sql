-- What a preview has to know of a job.

-- name: subject
SELECT j.id, j.spec::text AS spec, j.anchor, j.since, j.overrides::text AS overrides,
       j.calendars, j.next_due_at
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'

-- name: subjects
-- By the primary key. What has no schedule has no due times.
SELECT id, spec::text AS spec, anchor, since, overrides::text AS overrides, calendars, next_due_at
FROM jobs
WHERE id = ANY (:job_ids::uuid[]) AND schedule IS NOT NULL AND state = 'active'
