-- The runs of `reopened`, which were over, are unfinished again: those of their jobs are looked for from
-- the first of their due times on.
UPDATE jobs j
SET open_since = r.due_at
FROM (
    SELECT job_id, min(due_at) AS due_at FROM reopened WHERE kind <> 'backfill' GROUP BY job_id
) AS r
WHERE j.id = r.job_id AND j.open_since > r.due_at
