-- name: load
-- By jobs_fires: of each partition the first few after where the page before ended. So a page costs
-- the same however much falls due after it, what is over is not looked at again, and what fires
-- soonest comes first of all.
SELECT j.*
FROM unnest(:partitions::smallint[], :after_ats::timestamptz[], :after_ids::uuid[])
    AS held (partition, after_at, after_id)
CROSS JOIN LATERAL (
    SELECT id, partition, revision, state, schedule::text AS schedule, anchor, since,
           overrides::text AS overrides, calendars, misfire::text AS misfire, pool, next_due_at,
           next_fire_at
    FROM jobs
    WHERE jobs.partition = held.partition
      AND (next_fire_at, id) > (held.after_at, held.after_id)
      AND next_fire_at <= :until::timestamptz
    ORDER BY next_fire_at, id
    LIMIT :share
) AS j

-- name: changed
-- By revisions_changed; what was committed late, by revisions_written: all that was still under way
-- when `seen` was read, or began later. Not of any age, or a long transaction would make it dear.
SELECT j.id, j.partition, j.revision, j.state, j.schedule::text AS schedule, j.anchor, j.since,
       j.overrides::text AS overrides, j.calendars, j.misfire::text AS misfire, j.pool,
       j.next_due_at, j.next_fire_at
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

-- name: find
SELECT id, partition, revision, state, schedule::text AS schedule, anchor, since,
       overrides::text AS overrides, calendars, misfire::text AS misfire, pool, next_due_at,
       next_fire_at
FROM jobs
WHERE id = ANY (:job_ids::uuid[]) AND next_due_at IS NOT NULL

-- name: claim
-- Rule 1: one autocommit statement that is fence, claim and enqueue.
-- fence: locks the rows of the partitions (FOR SHARE: a take-over waits for us or we for it) and
--   only then compares the epoch, under READ COMMITTED. An EXISTS would compare a snapshot and let
--   stale claims through.
-- kept: locks jobs that follow the ends of their runs, and those that catch up, so that a change of
--   one sees these rows, or this claim the change: the next due time hangs on it, and a change may
--   put the same due times on record as a range. Whoever is being changed is passed over.
-- due: the revision is compared too, so that a change that was acknowledged holds from then on.
--   So does a window; one skips (which goes before `hold`) what was to fire in it, too, however
--   late it is claimed. They are looked up, by windows_team, for teams with any that is near.
--   Columns that say the same of all claims come empty: see `_columns` in agenda.py. Sets are
--   tested by IN, and that by IS TRUE, since the planner then looks a row up by its hash, and makes
--   no join of it.
-- made: the row's unique key decides who owns the firing.
-- stepped: the step past the ranges of a job, whose rows say nothing to a claim that begins within.
-- held: what waits for the end of a window, in the place of `enqueued`.
WITH fence AS (
    SELECT p.partition
    FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = :holder::uuid
      AND p.epoch = h.epoch
      AND (SELECT expires_at FROM schedulers WHERE id = :holder)
          > coalesce(:now::timestamptz, clock_timestamp())
    ORDER BY p.partition
    FOR SHARE OF p
),
kept AS (
    SELECT j.id
    FROM unnest(:job_ids::uuid[], :revisions::integer[], :are_kept::boolean[])
        AS c (job_id, revision, is_kept)
    JOIN jobs j ON j.id = c.job_id
    WHERE c.is_kept AND j.revision = c.revision AND j.state = 'active'
    FOR NO KEY UPDATE OF j SKIP LOCKED
),
near AS (
    SELECT team_id
    FROM windows
    WHERE ends_at > :oldest_fire_at::timestamptz
      AND starts_at <= coalesce(:now, clock_timestamp())
),
due AS (
    SELECT c.id, c.job_id, c.due_at, coalesce(c.fire_at, c.due_at) AS fire_at,
           coalesce(c.kind, 'scheduled') AS kind, coalesce(c.state, 'queued') AS state,
           coalesce(c.reason, '') AS reason, c.due_until, coalesce(c.due_count, 1) AS due_count,
           c.epoch, j.partition, j.team_id, j.pool, j.priority,
           coalesce(j.revision = c.revision AND j.state = 'active', false)
           AND (c.is_kept IS NOT TRUE OR c.job_id IN (SELECT id FROM kept)) AS fresh,
           CASE WHEN j.team_id IN (SELECT team_id FROM near)
                     AND coalesce(c.state, 'queued') = 'queued'
                     AND coalesce(c.kind, 'scheduled') = 'scheduled' THEN (
               SELECT w
               FROM windows w
               WHERE w.team_id = j.team_id
                 AND w.ends_at > :oldest_fire_at
                 AND (tstzrange(w.starts_at, w.ends_at) @> coalesce(:now, clock_timestamp())
                      OR w.policy = 'skip' AND tstzrange(w.starts_at, w.ends_at) @> coalesce(c.fire_at, c.due_at))
                 AND coalesce(j.spec -> 'labels', '{}') @> w.labels
               ORDER BY w.policy DESC, w.ends_at DESC
               LIMIT 1
           ) END AS met
    FROM unnest(
        :run_ids::uuid[], :job_ids, :revisions, :claim_partitions::smallint[],
        :claim_epochs::bigint[],
        :due_ats::timestamptz[], :fire_ats::timestamptz[], :kinds::text[], :states::text[],
        :reasons::text[], :due_untils::timestamptz[], :due_counts::integer[], :are_kept
    ) AS c (id, job_id, revision, held_partition, epoch, due_at, fire_at, kind, state, reason,
            due_until, due_count, is_kept)
    LEFT JOIN jobs j ON j.id = c.job_id
    WHERE (c.held_partition IN (SELECT partition FROM fence)) IS TRUE
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, finished_at, due_until, epoch, team_id, due_count,
        partition, priority, kind, state, pool, reason
    )
    SELECT id, job_id, due_at, fire_at, coalesce(:now, clock_timestamp()),
           CASE WHEN state = 'skipped' OR (met).policy = 'skip'
                THEN coalesce(:now, clock_timestamp()) END,
           due_until, epoch, team_id, due_count, partition, priority, kind,
           CASE (met).policy WHEN 'skip' THEN 'skipped' ELSE state END,
           pool, coalesce((met).reason, reason)
    FROM due
    WHERE fresh
    ON CONFLICT (job_id, due_at, kind) DO NOTHING
    RETURNING id, due_at, pool, priority, state
),
stepped AS (
    UPDATE jobs j
    SET next_due_at = s.next_due_at, next_fire_at = s.next_fire_at
    FROM (
        SELECT DISTINCT ON (job_id)
               job_id, due_until, next_due_at, next_fire_at,
               bool_and(run_id = ANY (array(SELECT id FROM made))) OVER (PARTITION BY job_id)
                   AS all_made
        FROM unnest(
            :range_ids::uuid[], :range_job_ids::uuid[], :range_ends::timestamptz[],
            :next_due_ats::timestamptz[], :next_fire_ats::timestamptz[]
        ) AS r (run_id, job_id, due_until, next_due_at, next_fire_at)
        ORDER BY job_id, due_until DESC
    ) AS s
    WHERE j.id = s.job_id AND j.next_due_at <= s.due_until AND s.all_made
),
held AS (
    INSERT INTO retries (partition, retry_at, run_id, due_at, held_by)
    SELECT partition, (met).ends_at, id, due_at, (met).id
    FROM due
    WHERE fresh AND (met).policy = 'hold' AND (id IN (SELECT id FROM made)) IS TRUE
    RETURNING run_id
),
enqueued AS (
    INSERT INTO dispatch (pool, priority, rank, run_id, due_at)
    SELECT pool, priority,
           (extract(epoch FROM coalesce(:now, clock_timestamp())) * 1000000)::bigint, id, due_at
    FROM made
    WHERE state = 'queued' AND (id IN (SELECT run_id FROM held)) IS NOT TRUE
)
SELECT CASE WHEN (SELECT count(*) FROM made) < cardinality(:run_ids)
            THEN array(SELECT id FROM made) END AS made,
       array(SELECT partition FROM fence) AS fenced,
       array(SELECT DISTINCT job_id FROM due WHERE NOT fresh) AS stale

-- name: locked
SELECT partition
FROM unnest(:partitions::smallint[]) AS wanted (partition)
EXCEPT
SELECT partition
FROM (
    SELECT partition
    FROM partitions
    WHERE partition = ANY (:partitions)
    FOR SHARE SKIP LOCKED
) AS free

-- name: advance
-- Not across a change, and not over a due time that may lack its row: a late writer does no harm.
-- Nor in a database that has gone back in time, where the holder's lease is older than it was told:
-- what it has claimed since then has no row there.
UPDATE jobs j
SET next_due_at = a.next_due_at, next_fire_at = a.next_fire_at
FROM unnest(
    :job_ids::uuid[], :revisions::integer[], :next_due_ats::timestamptz[],
    :next_fire_ats::timestamptz[], :accounted_untils::timestamptz[]
) AS a (job_id, revision, next_due_at, next_fire_at, accounted_until)
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
    job_id, revision, partition, effective_at, state, anchor, spec, since, overrides, calendars
)
SELECT id, revision, partition, changed_at, state, anchor, spec, since, overrides, calendars
FROM stopped
RETURNING job_id

-- name: loosen
-- What is held by a window that is gone, or ends at another time, or begins later, comes due now;
-- promotion decides about it anew. So it does not matter what a claim saw that was under way when
-- the window changed. By retries_held: a look for each window that holds something, however much.
WITH RECURSIVE holding AS (
    SELECT min(held_by) AS id FROM retries WHERE held_by > 0
    UNION ALL
    SELECT (SELECT min(held_by) FROM retries WHERE held_by > h.id) FROM holding h WHERE h.id > 0
),
known AS (
    SELECT h.id, w.ends_at, coalesce(:now::timestamptz, now()) AS now
    FROM holding h
    LEFT JOIN windows w ON w.id = h.id AND w.starts_at <= coalesce(:now, now())
    WHERE h.id > 0
),
changed AS (
    (
        SELECT r.partition, r.retry_at, r.run_id, k.now
        FROM known k
        JOIN retries r ON r.held_by = k.id AND r.retry_at > greatest(k.now, k.ends_at)
        WHERE r.partition = ANY (:partitions::smallint[])
        LIMIT :limit
    )
    UNION ALL
    (
        SELECT r.partition, r.retry_at, r.run_id, k.now
        FROM known k
        JOIN retries r ON r.held_by = k.id AND r.retry_at > k.now AND r.retry_at < k.ends_at
        WHERE r.partition = ANY (:partitions)
        LIMIT :limit
    )
)
UPDATE retries r
SET retry_at = c.now
FROM changed c
WHERE r.partition = c.partition AND r.retry_at = c.retry_at AND r.run_id = c.run_id

-- name: load_retries
-- By the primary key, page by page as in `load`.
SELECT r.run_id, r.partition, r.retry_at
FROM unnest(:partitions::smallint[], :after_ats::timestamptz[], :after_ids::uuid[])
    AS held (partition, after_at, after_id)
CROSS JOIN LATERAL (
    SELECT run_id, partition, retry_at
    FROM retries
    WHERE retries.partition = held.partition
      AND (retry_at, run_id) > (held.after_at, held.after_id)
      AND retry_at <= :until::timestamptz
    ORDER BY retry_at, run_id
    LIMIT :share
) AS r

-- name: promote
-- The row of `retries` decides: whoever deletes it puts the run on the queue, once.
-- met: the window that holds it instead, and what was held before waits for any that is in force.
WITH fence AS (
    SELECT p.partition
    FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = :holder::uuid
      AND p.epoch = h.epoch
      AND (SELECT expires_at FROM schedulers WHERE id = :holder)
          > coalesce(:now::timestamptz, clock_timestamp())
    ORDER BY p.partition
    FOR SHARE OF p
),
due AS (
    DELETE FROM retries r
    USING unnest(:run_ids::uuid[], :retry_partitions::smallint[], :retry_ats::timestamptz[])
        AS d (run_id, partition, retry_at)
    WHERE d.partition = ANY (array(SELECT partition FROM fence))
      AND r.partition = d.partition AND r.retry_at = d.retry_at AND r.run_id = d.run_id
    RETURNING r.run_id, r.due_at, r.held_by
),
met AS (
    SELECT d.*,
           CASE WHEN EXISTS (
               SELECT
               FROM windows
               WHERE ends_at > coalesce(:now, now())
                 AND starts_at <= coalesce(:now, clock_timestamp())
           ) THEN (
               SELECT w
               FROM (
                   SELECT j.team_id, coalesce(j.spec -> 'labels', '{}') AS labels
                   FROM runs r
                   JOIN jobs j ON j.id = r.job_id
                   WHERE r.id = d.run_id AND r.due_at = d.due_at AND r.kind = 'scheduled'
                   LIMIT 1
               ) AS j
               JOIN windows w ON w.team_id = j.team_id
               WHERE w.ends_at > coalesce(:now, now())
                 AND tstzrange(w.starts_at, w.ends_at) @> coalesce(:now, clock_timestamp())
                 AND (w.policy = 'hold' OR d.held_by IS NOT NULL)
                 AND j.labels @> w.labels
               ORDER BY w.ends_at DESC
               LIMIT 1
           ) END AS w
    FROM due d
),
moved AS (
    UPDATE runs r
    SET state = CASE WHEN (m.w).id IS NULL THEN 'queued' ELSE r.state END,
        retry_at = CASE r.state WHEN 'retrying' THEN (m.w).ends_at END,
        reason = CASE WHEN (m.w).id IS NOT NULL THEN (m.w).reason
                      WHEN m.held_by IS NOT NULL THEN ''
                      ELSE r.reason END
    FROM met m
    WHERE r.id = m.run_id AND r.due_at = m.due_at
      AND (r.state = 'retrying' OR r.state = 'queued' AND m.held_by IS NOT NULL)
    RETURNING r.id, r.due_at, r.pool, r.priority, r.partition, (m.w).id AS held_by,
              (m.w).ends_at AS held_until, r.shared_losses >= :suspect_after::integer AS alone
),
held AS (
    INSERT INTO retries (partition, retry_at, run_id, due_at, held_by)
    SELECT partition, held_until, id, due_at, held_by FROM moved WHERE held_by IS NOT NULL
),
queued AS (
    SELECT * FROM moved WHERE held_by IS NULL
),
enqueued AS (
    INSERT INTO dispatch (pool, priority, rank, run_id, due_at, alone)
    SELECT pool, priority,
           (extract(epoch FROM coalesce(:now, clock_timestamp())) * 1000000)::bigint, id, due_at,
           alone
    FROM queued
)
SELECT array(SELECT partition FROM fence) AS fenced,
       array(SELECT DISTINCT pool FROM queued) AS pools
