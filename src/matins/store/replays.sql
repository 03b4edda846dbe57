-- Replays of dead letters: their owners' side, and that of the scheduler which works them off.

-- name: create
-- Its letters are those that are there now; the first of them is due at once.
INSERT INTO replays (
    id, team_id, partition, state, job, fingerprint, since, until, run_ids, rate, made_at, made_by,
    planned, paced_at
)
SELECT :id::uuid, t.id, :partition::smallint, 'active', :job, :fingerprint, :since,
       least(:until::timestamptz, clock.now), :run_ids, :rate, clock.now, :by, (
           SELECT count(*)
           FROM dead_letters d
           WHERE (
               -- include: chosen_letters
           )
             AND d.dismissed_at IS NULL
       ), clock.now - :spacing::interval
FROM teams t, (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
WHERE t.name = :team
RETURNING id

-- name: cancel
UPDATE replays
SET state = 'cancelled', step = step + 1,
    finished_at = coalesce(:now::timestamptz, clock_timestamp())
WHERE id = :id::uuid AND finished_at IS NULL
RETURNING id

-- name: find_replay
SELECT
    -- include: replay_columns
FROM replays r
JOIN teams t ON t.id = r.team_id
WHERE r.id = :id::uuid

-- name: of_team
-- By replays_team, newest first.
SELECT
    -- include: replay_columns
FROM replays r
JOIN teams t ON t.id = r.team_id
WHERE r.team_id = (SELECT id FROM teams WHERE name = :team)
ORDER BY r.made_at DESC
LIMIT :limit

-- name: newest
-- Of all teams. By replays_partition, which holds no other than those that are not over, and by
-- replays_finished.
SELECT
    -- include: replay_columns
FROM (
    (SELECT * FROM replays WHERE finished_at IS NULL LIMIT :limit)
    UNION ALL
    (SELECT * FROM replays WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT :limit)
) AS r
JOIN teams t ON t.id = r.team_id
ORDER BY r.made_at DESC
LIMIT :limit

-- name: unfinished
-- By replays_partition, which holds no other.
SELECT id, rate, mark, paced_at, step, coalesce(:now::timestamptz, clock_timestamp()) AS now
FROM replays
WHERE partition = ANY (:partitions::smallint[]) AND finished_at IS NULL
ORDER BY id

-- name: letters
-- By dead_letters_of_team: the next letters of a replay, oldest due time first.
SELECT d.run_id
FROM replays r
JOIN dead_letters d ON d.team_id = r.team_id
WHERE r.id = :id::uuid
  AND d.run_id > coalesce(r.mark, '00000000-0000-0000-0000-000000000000')
  AND d.dismissed_at IS NULL
  AND d.dead_at < r.until
  AND (r.since IS NULL OR d.dead_at >= r.since)
  AND (r.job IS NULL OR d.job_id IN (
      SELECT id FROM jobs j WHERE j.team_id = r.team_id AND j.name = r.job
  ))
  AND (r.fingerprint IS NULL OR d.fingerprint = r.fingerprint)
  AND (r.run_ids IS NULL OR d.run_id = ANY (r.run_ids))
ORDER BY d.run_id
LIMIT :limit

-- name: proceed
-- A step: one statement that is step and replays. Who believed an older step does nothing, so that
-- whoever takes it, it is taken once. What has died again since it began has a newer letter, and stays.
WITH current AS (
    SELECT id, until, made_by, coalesce(:now::timestamptz, clock_timestamp()) AS now
    FROM replays
    WHERE id = :id::uuid AND step = :step AND finished_at IS NULL
    FOR NO KEY UPDATE
),
wanted AS (
    SELECT n.run_id, n.due_at, c.made_by AS by
    FROM current c
    CROSS JOIN unnest(:run_ids::uuid[], :due_ats::timestamptz[]) AS n (run_id, due_at)
    JOIN dead_letters d ON d.run_id = n.run_id AND d.dead_at < c.until
    WHERE (d.dismissed_at IS NULL) IS TRUE  -- so that the primary key is used
    ORDER BY d.run_id
    FOR UPDATE OF d
),
reopened AS (
    -- include: reopened
),
counted AS (
    SELECT count(*)::integer AS count FROM reopened
),
stepped AS (
    UPDATE replays r
    SET step = r.step + 1, mark = :mark::uuid, paced_at = :paced_at::timestamptz,
        replayed = r.replayed + n.count,
        left_out = r.left_out + cardinality(:run_ids) - n.count,
        state = CASE WHEN :is_last::boolean THEN 'done' ELSE r.state END,
        finished_at = CASE WHEN :is_last THEN c.now END
    FROM current c, counted n
    WHERE r.id = c.id
),
-- include: revived
SELECT count FROM counted
