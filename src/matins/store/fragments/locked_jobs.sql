-- The jobs of claims that hang together with others, locked unless they are being changed.
SELECT j.id
FROM unnest(:job_ids::uuid[], :revisions::integer[], :are_locked::boolean[])
    AS c (job_id, revision, is_locked)
JOIN jobs j ON j.id = c.job_id
WHERE c.is_locked AND j.revision = c.revision AND j.state = 'active'
FOR NO KEY UPDATE OF j SKIP LOCKED
