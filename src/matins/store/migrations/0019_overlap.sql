-- What becomes of a due time while a run of the job is unfinished: see `domain/jobs/overlap.py`.

-- `overlap`: the policy, which stands in the job's spec as well.
ALTER TABLE jobs ADD COLUMN overlap text NOT NULL DEFAULT 'skip';

-- From here on it is always known. A job that is made now has no run that was due before.
UPDATE jobs j
SET open_since = least(coalesce(open.due_at, 'infinity'), j.next_due_at, clock_timestamp())
FROM jobs i
LEFT JOIN (
    SELECT job_id, min(due_at) AS due_at FROM runs WHERE finished_at IS NULL GROUP BY job_id
) AS open ON open.job_id = i.id
WHERE i.id = j.id;

ALTER TABLE jobs
    ALTER COLUMN open_since SET DEFAULT clock_timestamp(),
    ALTER COLUMN open_since SET NOT NULL;

-- What waits for another run of its job, by that job.
CREATE INDEX waiting_overlap ON waiting (blocker) WHERE cause = 'overlap';
