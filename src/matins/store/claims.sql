-- Claims: what makes runs of due times, under the fence of a lease.

-- name: claim
-- Rule 1: one autocommit statement that is fence, claim and enqueue, for runs that are due on time.
-- due: the revision is compared, so that a change that was acknowledged holds from then on. Sets are
--   tested by IN, and that by IS TRUE, since the planner then looks a row up by its hash, and makes
--   no join of it. `fire_ats` comes empty where all are the due times.
-- made: the row's unique key decides who owns the firing. Where any of them has its row already,
--   nothing at all is done, and they go by `claim_rest`: to look beforehand costs each claim a tenth.
-- asked: what a window is near to, a gate may hold, or meets an unfinished run of its job, waits,
--   and is asked about by admission. `open_sinces` comes empty where all jobs allow overlap.
WITH fence AS (
    -- include: fence
),
near AS (
    -- include: near
),
due AS (
    SELECT c.*, j.partition, j.team_id, j.pool, j.priority,
           CASE WHEN
               -- include: must_be_asked
           THEN 'waiting' ELSE 'queued' END AS state,
           coalesce(j.revision = c.revision AND j.state = 'active', false) AS fresh
    FROM unnest(
        :run_ids::uuid[], :job_ids::uuid[], :revisions::integer[], :claim_partitions::smallint[],
        :claim_epochs::bigint[], :due_ats::timestamptz[], :ranks::bigint[],
        :fire_ats::timestamptz[], :open_sinces::timestamptz[]
    ) AS c (id, job_id, revision, held_partition, epoch, due_at, rank, fire_at, open_since)
    LEFT JOIN jobs j ON j.id = c.job_id
    WHERE (c.held_partition IN (SELECT partition FROM fence)) IS TRUE
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, epoch, rank, team_id, partition, priority, kind,
        state, pool, reason
    )
    SELECT id, job_id, due_at, coalesce(fire_at, due_at), coalesce(:now, clock_timestamp()), epoch,
           coalesce(rank, rank_at(coalesce(:now, clock_timestamp()), priority)), team_id, partition,
           priority, 'scheduled', state, pool,
           CASE state WHEN 'waiting' THEN 'to be admitted' ELSE '' END
    FROM due
    WHERE fresh
    RETURNING id, due_at, pool, rank, state, partition, team_id, claimed_at, false AS alone
),
-- include: placed
-- include: claimed

-- name: claim_rest
-- As `claim`, also for what may have its row already, is skipped, stands for a range, or hangs together with its job's other
-- due times.
-- locked: jobs that follow the ends of their runs, and those that catch up, so that a change of one
--   sees these rows, or this claim the change: the next due time hangs on it, and a change may
--   record the same due times as a range. Whoever is being changed is passed over.
-- stepped: the step past the range of a job, whose row says nothing to a claim that begins within.
WITH fence AS (
    -- include: fence
),
locked AS (
    -- include: locked_jobs
),
near AS (
    -- include: near
),
due AS (
    SELECT c.*, j.partition, j.team_id, j.pool, j.priority,
           CASE WHEN c.wanted = 'queued' AND (
               c.kind <> 'scheduled' AND j.overlap <> 'allow' OR
               -- include: must_be_asked
           ) THEN 'waiting' ELSE c.wanted END AS state,
           coalesce(j.revision = c.revision AND j.state = 'active', false)
           AND (NOT c.is_locked OR c.id IN (SELECT id FROM locked)) AS fresh
    FROM unnest(
        :run_ids::uuid[], :job_ids, :revisions, :claim_partitions::smallint[],
        :claim_epochs::bigint[], :due_ats::timestamptz[], :ranks::bigint[],
        :fire_ats::timestamptz[], :open_sinces::timestamptz[], :kinds::text[], :states::text[],
        :reasons::text[], :due_untils::timestamptz[], :due_counts::integer[], :are_locked
    ) AS c (id, job_id, revision, held_partition, epoch, due_at, rank, fire_at, open_since, kind,
            wanted, reason, due_until, due_count, is_locked)
    LEFT JOIN jobs j ON j.id = c.job_id
    WHERE (c.held_partition IN (SELECT partition FROM fence)) IS TRUE
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, finished_at, due_until, epoch, rank, team_id,
        due_count, partition, priority, kind, state, pool, reason
    )
    SELECT id, job_id, due_at, coalesce(fire_at, due_at), now,
           CASE state WHEN 'skipped' THEN now END,
           due_until, epoch,
           CASE WHEN state <> 'skipped' THEN coalesce(rank, rank_at(now, priority)) END, team_id,
           due_count, partition, priority, kind, state, pool,
           CASE state WHEN 'waiting' THEN 'to be admitted' ELSE reason END
    FROM due, coalesce(:now, clock_timestamp()) AS now
    WHERE fresh
      -- include: uncovered
    ON CONFLICT (job_id, due_at, kind) DO NOTHING
    RETURNING id, due_at, pool, rank, state, partition, team_id, claimed_at, false AS alone
),
stepped AS (
    -- include: stepped
),
-- include: placed
-- include: claimed

-- name: locked_partitions
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
