-- The runs of `reopened`, which were over, are unfinished again: those of their jobs are looked for from
-- their due times on.
UPDATE jobs j
SET open_since = least(j.open_since, r.due_at)
FROM reopened r
WHERE j.id = r.job_id AND r.kind <> 'backfill' AND j.open_since > r.due_at
