-- The dead runs of `wanted`, which says `by` whom, as the same runs, by way of a retry that is yet to be
-- admitted. Not of a job that is deleted or run by something else, nor where the due time after it was
-- counted from its end.
UPDATE runs r
SET state = 'retrying', reason = 'replayed by ' || coalesce(nullif(w.by, ''), 'its owner'),
    replayed_by = w.by, finished_at = NULL, awaits_replay = true,
    retry_at = coalesce(:now::timestamptz, clock_timestamp())
FROM wanted w, jobs j
WHERE r.id = w.run_id AND r.due_at = w.due_at AND r.state = 'dead'
  AND j.id = r.job_id AND j.state <> 'deleted'
  AND j.spec #> '{target,checkin}' IS NULL
  AND (r.kind <> 'scheduled' OR (  -- NOT EXISTS would read all revisions, and hash them
      SELECT true
      FROM revisions v
      WHERE v.job_id = r.job_id AND v.spec -> 'schedule' ->> 'after' = 'end'
      LIMIT 1
  ) IS NULL)
RETURNING r.*, j.name AS job
