-- Those claims of jobs that hang together with others whose job could be locked: it is not being changed.
-- What a job has stepped past has its row, perhaps a range that lies over it. That is told by the job's
-- row once it is locked: a claim that comes late may have looked before the step was committed.
SELECT c.id
FROM unnest(
    :run_ids::uuid[], :job_ids::uuid[], :revisions::integer[], :due_ats::timestamptz[],
    :kinds::text[], :are_locked::boolean[]
) AS c (id, job_id, revision, due_at, kind, is_locked)
JOIN jobs j ON j.id = c.job_id
WHERE c.is_locked AND j.revision = c.revision AND j.state = 'active'
  AND (c.kind <> 'scheduled' OR c.due_at >= j.next_due_at)
FOR NO KEY UPDATE OF j SKIP LOCKED
