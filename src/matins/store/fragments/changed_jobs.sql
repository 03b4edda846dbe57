-- The jobs that are not as they were when it was decided.
SELECT b.id
FROM unnest(:asked_job_ids::uuid[], :job_revisions::integer[]) AS b (id, revision)
LEFT JOIN jobs j ON j.id = b.id AND j.revision = b.revision
WHERE j.id IS NULL
