-- What of each job decides when it fires, and for whom.

-- name: page
-- By the primary key: all active jobs, once.
SELECT j.id, t.name AS team, j.pool, j.state, j.schedule::text AS schedule, j.anchor, j.since,
       j.overrides::text AS overrides, j.calendars
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE j.id > :after::uuid
  AND j.state = 'active'
  AND j.schedule IS NOT NULL
ORDER BY j.id
LIMIT :limit

-- name: changed
-- By revisions_changed. Only a job's last revision counts; jobs that are no longer active come too.
SELECT j.id, t.name AS team, j.pool, j.state, j.schedule::text AS schedule, j.anchor, j.since,
       j.overrides::text AS overrides, j.calendars, r.effective_at
FROM revisions r
JOIN jobs j ON j.id = r.job_id AND j.revision = r.revision
JOIN teams t ON t.id = j.team_id
WHERE r.effective_at >= :since::timestamptz
  AND (r.effective_at, r.job_id) > (:since, :after::uuid)
ORDER BY r.effective_at, r.job_id
LIMIT :limit
