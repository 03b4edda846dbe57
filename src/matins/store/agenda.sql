-- name: load
-- By jobs_fires: of each partition the first few after where the page before ended. So a page costs
-- the same however much falls due after it, what is over is not looked at again, and what fires
-- soonest comes first of all.
SELECT due.*
FROM unnest(:partitions::smallint[], :after_ats::timestamptz[], :after_ids::uuid[])
    AS held (partition, after_at, after_id)
CROSS JOIN LATERAL (
    SELECT
        -- include: due_job_columns
    FROM jobs j
    WHERE j.partition = held.partition
      AND (j.next_fire_at, j.id) > (held.after_at, held.after_id)
      AND j.next_fire_at <= :until::timestamptz
    ORDER BY j.next_fire_at, j.id
    LIMIT :share
) AS due

-- name: changed_jobs
-- By revisions_changed; what was committed late, by revisions_written: all that was still under way
-- when `seen` was read, or began later. Not of any age, or a long transaction would make it dear.
SELECT
    -- include: due_job_columns
FROM (
    SELECT r.job_id, r.revision
    FROM revisions r
    WHERE r.effective_at >= :since::timestamptz
      AND r.partition = ANY (:partitions::smallint[])
    UNION
    SELECT late.job_id, late.revision
    FROM revisions late
    WHERE late.written_in >= :seen::bigint
      AND late.effective_at >= :since - interval '1 hour'
      AND late.partition = ANY (:partitions)
) AS r
JOIN jobs j ON j.id = r.job_id AND j.revision = r.revision
WHERE j.schedule IS NOT NULL

-- name: under_way
-- All transactions before this one have ended.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS seen

-- name: find_jobs
SELECT
    -- include: due_job_columns
FROM jobs j
WHERE j.id = ANY (:job_ids::uuid[]) AND j.next_due_at IS NOT NULL

-- name: advance
-- Not across a change, and not over a due time that may lack its row: a late writer does no harm.
-- Nor in a database that has gone back in time, where the holder's lease is older than it was told:
-- what it has claimed since then has no row there. `open_since` only rises, and not past the run whose
-- end is awaited: what follows it may be due before the end of a run that was triggered meanwhile.
UPDATE jobs j
SET next_due_at = a.next_due_at, next_fire_at = a.next_fire_at,
    open_since = greatest(
        j.open_since, CASE WHEN j.follows < a.open_since THEN j.follows ELSE a.open_since END
    )
FROM unnest(
    :job_ids::uuid[], :revisions::integer[], :next_due_ats::timestamptz[],
    :next_fire_ats::timestamptz[], :accounted_untils::timestamptz[], :open_sinces::timestamptz[]
) AS a (job_id, revision, next_due_at, next_fire_at, accounted_until, open_since)
WHERE j.id = a.job_id
  AND j.revision = a.revision
  AND j.state = 'active'
  AND j.next_due_at <= a.accounted_until
  AND EXISTS (
      SELECT FROM schedulers WHERE id = :holder::uuid AND renewed_at >= :renewed_at::timestamptz
  )

-- name: quarantine
WITH stopped AS (
    UPDATE jobs
    SET state = 'quarantined', reason = :reason::text, revision = revision + 1,
        changed_at = coalesce(:now::timestamptz, clock_timestamp()),
        next_due_at = NULL, next_fire_at = NULL
    WHERE id = :job_id::uuid AND revision = :revision::integer AND state = 'active'
    RETURNING *
)
INSERT INTO revisions (
    job_id, revision, partition, effective_at, state, anchor, spec, since, overrides, calendars,
    changed_by, change_reason
)
SELECT id, revision, partition, changed_at, state, anchor, spec, since, overrides, calendars,
       :author::text, reason
FROM stopped
RETURNING job_id
