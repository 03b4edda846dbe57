-- What owners see of the revisions of a job.

-- name: page
-- By the primary key. One more than is asked for: what a revision changes is told by the one before.
SELECT revision, effective_at AS at, state, spec::text AS spec, overrides::text AS overrides,
       calendars, changed_by AS author, change_reason AS reason
FROM revisions
WHERE job_id = :job_id::uuid AND revision < :before::integer
ORDER BY revision DESC
LIMIT :limit + 1
