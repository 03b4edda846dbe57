-- Check-ins: tokens, and what is told by them.

-- name: rotate
-- By the unique key (team_id, name) of jobs.
INSERT INTO checkins (job_id, token_hash, made_at, next_at)
SELECT j.id, :token_hash::bytea, clock.now, clock.now
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN jobs j
JOIN teams t ON t.id = j.team_id
WHERE t.name = :team AND j.name = :name
  -- include: is_checkin
ON CONFLICT (job_id) DO UPDATE SET token_hash = excluded.token_hash, made_at = excluded.made_at
RETURNING job_id

-- name: of_team
-- By jobs_name: the jobs of a team that are check-ins. One without a row has no token yet.
SELECT t.name AS team, j.name, c.made_at, c.started_at, c.ended_at, coalesce(c.state, '') AS state
FROM jobs j
JOIN teams t ON t.id = j.team_id
LEFT JOIN checkins c ON c.job_id = j.id
WHERE t.name = :team AND (:name::text IS NULL OR j.name = :name)
  -- include: is_checkin
ORDER BY j.name
LIMIT 1000

-- name: take
-- By the unique key (token_hash). A token that is used too often changes nothing.
UPDATE checkins c
SET next_at = greatest(c.next_at, clock.now) + :pace::interval,
    started_at = CASE WHEN :begins::boolean THEN clock.now ELSE c.started_at END
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock, jobs j
WHERE c.token_hash = :token_hash::bytea AND c.next_at <= clock.now + :ahead::interval
  AND j.id = c.job_id
  -- include: is_checkin
RETURNING c.job_id, c.started_at, clock.now

-- name: known
SELECT j.id
FROM checkins c
JOIN jobs j ON j.id = c.job_id
WHERE c.token_hash = :token_hash::bytea
  -- include: is_checkin

-- name: record
-- A run that has ended, with its only attempt. Its job is looked at anew; who looks at it just now has
-- not seen the run, and finds by `looked_at` that nothing is to be written.
WITH made AS (
    INSERT INTO runs (
        id, job_id, due_at, fire_at, claimed_at, started_at, finished_at, epoch, team_id, partition,
        priority, kind, state, reason, pool, attempt
    )
    SELECT :run_id::uuid, j.id, :due_at::timestamptz, :due_at, :at::timestamptz,
           :started_at::timestamptz, :at, 0, j.team_id, j.partition, j.priority, 'manual',
           :state::text, :reason::text, j.pool, 1
    FROM jobs j
    WHERE j.id = :job_id::uuid
    ON CONFLICT (job_id, due_at, kind) DO NOTHING
    RETURNING id, job_id, due_at, started_at, finished_at
),
logged AS (
    INSERT INTO attempts (
        run_id, due_at, number, executor, started_at, finished_at, outcome, reason, exit_code,
        http_status, output, output_cut, fingerprint
    )
    SELECT id, due_at, 1, :executor::uuid, coalesce(started_at, finished_at), finished_at,
           :outcome::text, :reason, :exit_code::integer, NULL, :output::text, :output_cut::bigint,
           :fingerprint::text
    FROM made
),
noted AS (
    UPDATE checkins c
    SET started_at = NULL, ended_at = made.finished_at, state = :state
    FROM made
    WHERE c.job_id = made.job_id
),
woken AS (
    UPDATE watches w
    SET look_at = least(w.look_at, made.finished_at),
        looked_at = coalesce(w.looked_at, made.finished_at) - interval '1 microsecond'
    FROM made
    WHERE w.job_id = made.job_id
)
SELECT id, wake_chains(job_id, due_at) FROM made
