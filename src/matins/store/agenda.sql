-- name: database_time
SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now

-- name: load
-- By jobs_due. The page goes by id, since many jobs share one fire time; materialized, or the
-- planner would walk the primary key for the order's sake and look at every job there is.
WITH due AS MATERIALIZED (
    SELECT id, team_id, partition, revision, state, schedule, anchor, since, exemptions,
           calendars, misfire, pool, priority, next_due_at, next_fire_at
    FROM jobs
    WHERE partition = ANY (:partitions::smallint[])
      AND next_fire_at <= :until::timestamptz
      AND id > :after::uuid
)
SELECT id, team_id, partition, revision, state, schedule::text AS schedule, anchor,
       since, exemptions::text AS exemptions, calendars, misfire::text AS misfire, pool, priority,
       next_due_at, next_fire_at
FROM due
ORDER BY id
LIMIT :limit

-- name: changed
-- By revisions_changed.
SELECT j.id, j.team_id, j.partition, j.revision, j.state, j.schedule::text AS schedule, j.anchor,
       j.since, j.exemptions::text AS exemptions, j.calendars, j.misfire::text AS misfire, j.pool, j.priority, j.next_due_at, j.next_fire_at
FROM revisions r
JOIN jobs j ON j.id = r.job_id AND j.revision = r.revision
WHERE r.effective_at >= :since::timestamptz
  AND r.partition = ANY (:partitions::smallint[])
  AND j.schedule IS NOT NULL

-- name: find
SELECT id, team_id, partition, revision, state, schedule::text AS schedule, anchor,
       since, exemptions::text AS exemptions, calendars, misfire::text AS misfire, pool, priority,
       next_due_at, next_fire_at
FROM jobs
WHERE id = ANY (:job_ids::uuid[]) AND next_due_at IS NOT NULL

-- name: claim
-- Rule 1: one autocommit statement that is fence, claim and enqueue.
-- fence: locks the lease rows (FOR SHARE: a take-over waits for us or we for it) and only then
--   compares the epoch, under READ COMMITTED. An EXISTS would compare a snapshot and let stale
--   claims through.
-- due: the revision is compared too, so that a change that was acknowledged holds from then on.
-- made: the row's unique key decides who owns the firing.
WITH fence AS (
    SELECT p.partition
    FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = :holder::uuid
      AND p.epoch = h.epoch
      AND p.expires_at > coalesce(:now::timestamptz, clock_timestamp())
    ORDER BY p.partition
    FOR SHARE OF p
),
due AS (
    SELECT c.*, j.partition, j.team_id, j.pool, j.priority,
           coalesce(j.revision = c.revision AND j.state = 'active', false) AS fresh
    FROM unnest(
        :run_ids::uuid[], :job_ids::uuid[], :revisions::integer[], :claim_partitions::smallint[],
        :claim_epochs::bigint[],
        :due_ats::timestamptz[], :fire_ats::timestamptz[], :kinds::text[], :states::text[],
        :reasons::text[], :due_untils::timestamptz[], :due_counts::integer[]
    ) AS c (id, job_id, revision, held_partition, epoch, due_at, fire_at, kind, state, reason,
            due_until, due_count)
    LEFT JOIN jobs j ON j.id = c.job_id
    WHERE c.held_partition = ANY (array(SELECT partition FROM fence))
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, finished_at, due_until, epoch, team_id, due_count,
        partition, priority, kind, state, pool, reason
    )
    SELECT id, job_id, due_at, fire_at, coalesce(:now, clock_timestamp()),
           CASE state WHEN 'skipped' THEN coalesce(:now, clock_timestamp()) END,
           due_until, epoch, team_id, due_count, partition, priority, kind, state, pool, reason
    FROM due
    WHERE fresh
    ON CONFLICT (job_id, due_at, kind) DO NOTHING
    RETURNING id, due_at, pool, priority, state
),
enqueued AS (
    INSERT INTO dispatch (pool, priority, rank, run_id, due_at)
    SELECT pool, priority,
           (extract(epoch FROM coalesce(:now, clock_timestamp())) * 1000000)::bigint, id, due_at
    FROM made
    WHERE state = 'queued'
)
SELECT array(SELECT id FROM made) AS made,
       array(SELECT partition FROM fence) AS fenced,
       array(SELECT DISTINCT job_id FROM due WHERE NOT fresh) AS stale

-- name: advance
-- Not across a change, and not over a due time that may lack its row: a late writer does no harm.
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
    job_id, revision, partition, effective_at, state, anchor, spec, since, exemptions, calendars
)
SELECT id, revision, partition, changed_at, state, anchor, spec, since, exemptions, calendars
FROM stopped
RETURNING job_id

-- name: load_retries
SELECT r.run_id, r.partition, r.retry_at
FROM unnest(:partitions::smallint[]) AS held (partition)
CROSS JOIN LATERAL (
    SELECT run_id, partition, retry_at
    FROM retries
    WHERE retries.partition = held.partition AND retry_at <= :until::timestamptz
    ORDER BY retry_at
    LIMIT :limit
) AS r
ORDER BY r.retry_at
LIMIT :limit

-- name: promote
-- The row of `retries` decides: whoever deletes it puts the run on the queue, once.
WITH fence AS (
    SELECT p.partition
    FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
    JOIN partitions p ON p.partition = h.partition
    WHERE p.holder = :holder::uuid
      AND p.epoch = h.epoch
      AND p.expires_at > coalesce(:now::timestamptz, clock_timestamp())
    ORDER BY p.partition
    FOR SHARE OF p
),
due AS (
    DELETE FROM retries r
    USING unnest(:run_ids::uuid[], :retry_partitions::smallint[], :retry_ats::timestamptz[])
        AS d (run_id, partition, retry_at)
    WHERE d.partition = ANY (array(SELECT partition FROM fence))
      AND r.partition = d.partition AND r.retry_at = d.retry_at AND r.run_id = d.run_id
    RETURNING r.run_id, r.due_at
),
queued AS (
    UPDATE runs r
    SET state = 'queued', retry_at = NULL
    FROM due d
    WHERE r.id = d.run_id AND r.due_at = d.due_at AND r.state = 'retrying'
    RETURNING r.id, r.due_at, r.pool, r.priority
),
enqueued AS (
    INSERT INTO dispatch (pool, priority, rank, run_id, due_at)
    SELECT pool, priority,
           (extract(epoch FROM coalesce(:now, clock_timestamp())) * 1000000)::bigint, id, due_at
    FROM queued
)
SELECT array(SELECT partition FROM fence) AS fenced,
       array(SELECT DISTINCT pool FROM queued) AS pools
