-- The revisions by which due times of jobs are computed anew.

-- name: revisions
-- By the primary key.
SELECT job_id, revision, effective_at, state, spec::text AS spec, anchor, since,
       overrides::text AS overrides, calendars
FROM revisions
WHERE job_id = ANY (:job_ids::uuid[])
ORDER BY job_id, revision
