-- The owners' side of jobs. A change locks the job's row first and reads the clock afterwards, so
-- that the instants of a job's revisions are in their order.

-- name: lock_job
SELECT j.id, j.team_id, j.partition, j.revision, j.state, j.reason, j.spec::text AS spec, j.anchor,
       j.since, j.overrides::text AS overrides, j.calendars, j.created_at, j.changed_at,
       j.next_due_at, j.next_fire_at, j.follows, j.paused_until, j.resume_missed,
       EXISTS (
           SELECT FROM calendars c WHERE c.id = ANY (j.calendars) AND c.replaced_at IS NOT NULL
       ) AS is_behind
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name AND j.state <> 'deleted'
FOR UPDATE OF j

-- name: stopped_since
-- Since when a job has been as it is: paused or quarantined, with this schedule.
SELECT min(effective_at) AS stopped_at
FROM revisions
WHERE job_id = :job_id::uuid
  AND revision > coalesce((
      SELECT max(revision)
      FROM revisions
      WHERE job_id = :job_id
        AND (state <> :state::text OR spec -> 'schedule' IS DISTINCT FROM :schedule::jsonb)
  ), 0)

-- name: spec_of
SELECT spec::text AS spec FROM revisions WHERE job_id = :job_id::uuid AND revision = :revision::integer

-- name: select
-- By jobs_name.
SELECT j.name
FROM jobs j
WHERE j.team_id = (SELECT id FROM teams WHERE name = :team)
  AND j.name > :after::text
  AND j.state <> 'deleted'
  AND coalesce(j.spec -> 'labels', '{}') @> :labels::jsonb
ORDER BY j.name
LIMIT :limit

-- name: ended_pauses
-- By jobs_paused_until.
SELECT j.id, t.name AS team, j.name
FROM jobs j
JOIN teams t ON t.id = j.team_id
WHERE j.paused_until <= coalesce(:now::timestamptz, clock_timestamp())
  AND j.id <> ALL (:besides::uuid[])
ORDER BY j.paused_until
LIMIT :limit

-- name: purged_until
-- Up to when rows of a job may have been purged.
SELECT greatest(h.dropped_until, p.succeeded_until, p.others_until) AS purged_until
FROM history h
LEFT JOIN purges p ON p.job_id = :job_id::uuid

-- name: runs_between
-- By the unique key (job_id, due_at, kind), in a range of days.
SELECT due_at, due_until, finished_at
FROM all_runs
WHERE job_id = :job_id::uuid
  AND due_at BETWEEN :since::timestamptz AND :until::timestamptz
  AND due_at >= :first::timestamptz AND due_at < :past::timestamptz
  AND kind = 'scheduled'
ORDER BY due_at

-- name: record
-- Records due times that have passed; those that are to run go on the queue, or are asked about.
-- Under the lock of the job's row instead of a lease: whoever claims them as well loses to the
-- unique key. `open_since` goes back to the first that is to be asked about.
WITH due AS (
    SELECT *
    FROM unnest(
        :run_ids::uuid[], :due_ats::timestamptz[], :fire_ats::timestamptz[], :states::text[],
        :reasons::text[], :due_untils::timestamptz[], :due_counts::integer[]
    ) AS d (id, due_at, fire_at, state, reason, due_until, due_count)
),
made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, finished_at, due_until, epoch, rank, team_id,
        due_count, partition, priority, kind, state, pool, reason
    )
    SELECT id, :job_id::uuid, due_at, fire_at, :at::timestamptz,
           CASE state WHEN 'skipped' THEN :at END,
           due_until, 0,
           rank_at(coalesce(:now::timestamptz, clock_timestamp()), :priority::smallint),
           :team_id::integer, due_count, :partition::smallint, :priority, :kind::text,
           CASE WHEN state = 'queued' AND is_asked THEN 'waiting' ELSE state END, :pool::text,
           CASE WHEN state = 'queued' AND is_asked THEN 'to be admitted' ELSE reason END
    FROM due
    CROSS JOIN (
        SELECT j.overlap <> 'allow' OR
            -- include: is_gated
            AS is_asked
        FROM jobs j
        WHERE j.id = :job_id
    ) AS job
    ON CONFLICT (job_id, due_at, kind) DO NOTHING
    RETURNING id, due_at, pool, rank, state, partition, team_id, claimed_at, false AS alone
),
reopened AS (
    UPDATE jobs
    SET open_since = least(open_since, (SELECT min(due_at) FROM made WHERE state = 'waiting'))
    WHERE id = :job_id AND EXISTS (SELECT FROM made WHERE state = 'waiting')
),
-- include: placed
SELECT id FROM made

-- name: insert_job
WITH made AS (
    INSERT INTO jobs (
        id, team_id, partition, name, revision, state, spec, schedule, misfire, keep, keep_days,
        pool, priority, overlap, open_since,
        anchor, since, calendars, created_at, changed_at, next_due_at, next_fire_at, follows
    )
    SELECT :id::uuid, t.id, :partition::smallint, :name::text, 1, 'active', :spec::jsonb,
           :schedule::jsonb, :misfire::jsonb, :keep::jsonb, :keep_days::integer, :pool::text,
           :priority::smallint, :overlap::text, :at::timestamptz,
           :anchor::timestamptz, :since::timestamptz, :calendars::integer[], :at, :at,
           :next_due_at::timestamptz, :next_fire_at::timestamptz, :follows::timestamptz
    FROM teams t
    WHERE t.name = :team::text
    ON CONFLICT DO NOTHING
    RETURNING *
),
noted AS (
    INSERT INTO revisions (
        job_id, revision, partition, effective_at, state, anchor, spec, since, calendars,
        changed_by, change_reason
    )
    SELECT id, revision, partition, changed_at, state, anchor, spec, since, calendars,
           :changed_by::text, :change_reason::text
    FROM made
)
SELECT id FROM made

-- name: job_quota
-- Locked, so that new jobs of a team with a quota are counted one after the other.
SELECT t.id AS team_id, coalesce(t.max_jobs, d.max_jobs) AS max_jobs
FROM quota_defaults d
CROSS JOIN teams t
WHERE t.name = :team::text AND coalesce(t.max_jobs, d.max_jobs) IS NOT NULL
FOR NO KEY UPDATE OF t

-- name: count_jobs
-- By jobs_name.
SELECT count(*)::integer AS jobs FROM jobs WHERE team_id = :team_id::integer AND state <> 'deleted'

-- name: write_revision
WITH changed AS (
    UPDATE jobs
    SET revision = revision + 1,
        state = :state::text,
        reason = :reason::text,
        spec = :spec::jsonb,
        schedule = :schedule::jsonb,
        misfire = :misfire::jsonb,
        keep = :keep::jsonb,
        keep_days = :keep_days::integer,
        pool = :pool::text,
        priority = :priority::smallint,
        overlap = :overlap::text,
        open_since = coalesce(:open_since::timestamptz, open_since),
        since = :since::timestamptz,
        overrides = :overrides::jsonb,
        calendars = :calendars::integer[],
        changed_at = :at::timestamptz,
        next_due_at = :next_due_at::timestamptz,
        next_fire_at = :next_fire_at::timestamptz,
        follows = :follows::timestamptz,
        paused_until = :paused_until::timestamptz,
        resume_missed = :resume_missed::text
    WHERE id = :id::uuid
    RETURNING *
),
noted AS (
    INSERT INTO revisions (
        job_id, revision, partition, effective_at, state, anchor, spec, since, overrides, calendars,
        changed_by, change_reason
    )
    SELECT id, revision, partition, changed_at, state, anchor, spec, since, overrides, calendars,
           :changed_by::text, :change_reason::text
    FROM changed
)
SELECT id FROM changed

-- name: advance_job
-- Past a piece of a longer range whose due times have their rows now.
UPDATE jobs
SET next_due_at = :next_due_at::timestamptz, next_fire_at = :next_fire_at::timestamptz
WHERE id = :id::uuid AND state = 'active'

-- name: cancel_waiting
-- Of a job that is deleted. By the unique key (job_id, due_at, kind), from what waits longest on:
-- nothing that is older waits. Locked in the order of those who admit and dequeue, as by `cancel`.
WITH unfinished AS MATERIALIZED (
    SELECT id, due_at, pool, rank, retry_at
    FROM runs
    WHERE job_id = :job_id::uuid
      AND due_at >= least(
          (SELECT min(due_at) FROM dispatch),
          (SELECT min(due_at) FROM waiting WHERE partition = :partition::smallint)
      )
      AND state IN ('waiting', 'queued', 'retrying')
),
unscheduled AS (
    DELETE FROM waiting w
    USING unfinished u
    WHERE w.partition = :partition AND w.run_id = u.id
    RETURNING w.run_id
),
unqueued AS (
    DELETE FROM dispatch d
    USING unfinished u
    WHERE d.pool = u.pool AND d.rank = u.rank AND d.run_id = u.id
      AND (SELECT count(*) FROM unscheduled) >= 0
    RETURNING d.run_id
),
cancelled AS (
    UPDATE runs r
    SET state = 'cancelled',
        reason = 'its job was deleted',
        finished_at = coalesce(:now::timestamptz, clock_timestamp()),
        retry_at = NULL,
        cancel_at = coalesce(:now, clock_timestamp())
    FROM unfinished u
    WHERE r.id = u.id AND r.due_at = u.due_at AND r.state IN ('waiting', 'queued', 'retrying')
      AND (SELECT count(*) FROM unqueued) >= 0
    RETURNING r.id, r.holds_permits
),
given_back AS MATERIALIZED (
    SELECT give_back(array(SELECT id FROM cancelled WHERE holds_permits))
)
SELECT (SELECT count(*)::integer FROM cancelled) AS cancelled FROM given_back

-- name: has_unfinished_runs
-- By the unique key (job_id, due_at, kind): of every kind; and a backfill that makes more of them.
SELECT EXISTS (SELECT FROM runs WHERE job_id = :job_id::uuid AND finished_at IS NULL)
    OR EXISTS (SELECT FROM backfills WHERE job_id = :job_id AND finished_at IS NULL)
    AS is_unfinished

-- name: open_since
-- By the unique key (job_id, due_at, kind). What is claimed at this moment, or later, is due next at the
-- earliest, and that of a chain with the oldest due time that is undecided.
SELECT least(
    (SELECT min(due_at) FROM runs WHERE job_id = j.id AND finished_at IS NULL),
    j.next_due_at,
    j.follows,
    :safe_since::timestamptz
) AS open_since
FROM jobs j
WHERE j.id = :job_id::uuid
