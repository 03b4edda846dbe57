-- name: dequeue
-- Handing out means started: one statement takes the rows off the queue, sets `running`, attempt
-- and executor, and notes what was given for which poll.
-- alive: an executor that was declared lost gets nothing, nor does a poll that it is done with: one
--   that comes late, from a gateway that was frozen, or under a number of an earlier life.
--   The lock makes the declaration, or the heartbeat that says so, wait for us, or us for it.
-- dequeued: of several suspects one is dequeued. By its place in the table, which stays as it is while
--   the row is locked: by the statistics of an empty queue, a join by key walks all of it for each row.
-- started: an array counts as ten rows, so that runs are looked up by key; what a CTE deletes counts as one.
-- noted: a second dequeue for the same poll runs into its key, and then nothing at all is dequeued.
-- found, in the first row: the rank of now, how many were picked, and the first rank of them.
WITH alive AS (
    SELECT done_polls @> :seq::bigint AS is_done
    FROM executors
    WHERE id = :executor::uuid AND ended_at IS NULL
    FOR SHARE
),
picked AS (
    -- include: picked
),
dequeued AS (
    DELETE FROM dispatch d
    USING picked p
    WHERE d.ctid = p.place
      AND (NOT p.alone OR p.run_id = (
          SELECT run_id FROM picked WHERE alone ORDER BY rank, run_id LIMIT 1
      ))
    RETURNING d.run_id, d.due_at
),
started AS (
    UPDATE runs r
    SET state = 'running',
        attempt = r.attempt + 1,
        executor = :executor,
        started_at = coalesce(:now::timestamptz, clock_timestamp())
    FROM unnest(
        array(SELECT run_id FROM dequeued), array(SELECT due_at FROM dequeued)
    ) AS g (run_id, due_at)
    WHERE r.id = g.run_id AND r.due_at = g.due_at AND r.state = 'queued'
    RETURNING r.id, r.job_id, r.due_at, r.attempt, r.kind, r.started_at, r.input, r.revision,
              r.shared_losses >= :suspect_after AS alone
),
noted AS (
    INSERT INTO handouts (executor, seq, handed_at, run_ids)
    SELECT :executor, :seq, coalesce(:now, clock_timestamp()), array_agg(id)
    FROM started
    HAVING count(*) > 0
)
SELECT r.id, r.attempt, r.due_at, r.kind, r.started_at, r.alone, t.name AS team, j.name AS job,
       called.spec ->> 'timeout' AS timeout, called.spec ->> 'target' AS target, r.input::text AS input,
       j.state = 'deleted' AS is_deleted,
       -- include: keep_output
       CASE WHEN row_number() OVER () = 1 THEN array[
           (extract(epoch FROM coalesce(:now, clock_timestamp())) * 1000000)::bigint,
           (SELECT count(*) FROM picked), (SELECT min(rank) FROM picked)
       ] END AS found
FROM alive
LEFT JOIN started r ON true
LEFT JOIN jobs j ON j.id = r.job_id
-- include: called
LEFT JOIN teams t ON t.id = j.team_id
WHERE NOT alive.is_done

-- name: locked
-- Of what a dequeue would pick, the runs that it would wait for. It does not look for them itself,
-- as that would cost each run a second look-up.
WITH first AS MATERIALIZED (
    SELECT run_id, due_at
    FROM dispatch
    WHERE pool = :pool::text AND rank >= :front::bigint AND NOT run_id = ANY (:passed::uuid[])
    ORDER BY rank, run_id
    LIMIT :free
)
SELECT run_id
FROM first
EXCEPT
SELECT free.id
FROM first
CROSS JOIN LATERAL (
    SELECT id
    FROM runs
    WHERE id = first.run_id AND due_at = first.due_at
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
) AS free

-- name: queue_depth
-- By the primary key.
SELECT count(*)::integer AS depth
FROM (
    SELECT FROM dispatch WHERE pool = :pool::text AND rank >= :front::bigint LIMIT :limit::integer
) AS queued

-- name: free_elsewhere
-- By executors_alive. What was handed out and is not closed yet counts as held.
SELECT pool, e.slots - coalesce(held.runs, 0)::integer AS free
FROM executors e
CROSS JOIN LATERAL unnest(e.pools) AS pool
LEFT JOIN LATERAL (
    SELECT sum(cardinality(run_ids)) AS runs FROM handouts WHERE executor = e.id
) AS held ON true
WHERE e.ended_at IS NULL
  AND e.heartbeat_at > coalesce(:now::timestamptz, clock_timestamp()) - :silent::interval
  AND pool = ANY (:pools::text[])
  AND NOT e.id = ANY (:known::uuid[])
  AND e.slots > coalesce(held.runs, 0)
LIMIT 10000

-- name: find_handout
SELECT r.id, r.attempt, r.due_at, r.kind, r.started_at, r.alone, t.name AS team, j.name AS job,
       called.spec ->> 'timeout' AS timeout, called.spec ->> 'target' AS target, r.input::text AS input,
       -- include: keep_output
       j.state = 'deleted' AS is_deleted
FROM handouts h
CROSS JOIN LATERAL unnest(h.run_ids) AS given (run_id)
JOIN LATERAL (
    SELECT id, job_id, attempt, due_at, kind, started_at, input, revision,
           shared_losses >= :suspect_after::integer AS alone
    FROM runs
    WHERE id = given.run_id
      AND due_at = run_due_at(given.run_id)
      AND state = 'running'
      AND executor = h.executor
    LIMIT 1
) r ON true
JOIN jobs j ON j.id = r.job_id
-- include: called
JOIN teams t ON t.id = j.team_id
WHERE h.executor = :executor::uuid AND h.seq = :seq::bigint

-- name: running_runs
-- The run of a job that was deleted is not tried again.
SELECT
    -- include: tried
FROM unnest(:run_ids::uuid[], :due_ats::timestamptz[]) AS w (run_id, due_at)
JOIN runs r ON r.id = w.run_id AND r.due_at = w.due_at
JOIN jobs j ON j.id = r.job_id
-- include: called
WHERE r.state = 'running' AND r.executor = :executor::uuid

-- name: record
-- Every end says what it believed: run, attempt, executor. No row back means superseded.
-- A cancel that came while the retry was being decided wins over it. Columns that say the same of
-- all ends come empty: see `columns.py`.
WITH ended AS (
    -- include: ended
),
moved AS (
    UPDATE runs r
    SET state = CASE WHEN e.state = 'retrying' AND r.cancel_at IS NOT NULL THEN 'cancelled'
                     ELSE e.state END,
        reason = e.reason,
        finished_at = CASE WHEN e.state <> 'retrying' OR r.cancel_at IS NOT NULL
                           THEN coalesce(:now::timestamptz, clock_timestamp()) END,
        retry_at = CASE WHEN e.state = 'retrying' AND r.cancel_at IS NULL
                        THEN coalesce(:now, clock_timestamp())
                             + make_interval(secs => e.retry_in) END,
        lost_count = r.lost_count + (e.outcome = 'lost')::integer,
        shared_losses = r.shared_losses + e.shared::integer
    FROM ended e
    WHERE r.id = e.run_id
      AND r.due_at = e.due_at
      AND r.state = 'running'
      AND r.attempt = e.number
      AND r.executor = :executor::uuid
    RETURNING r.id, r.job_id, r.team_id, r.due_at, r.fire_at, r.claimed_at, r.started_at,
              r.finished_at, r.retry_at, r.kind, r.state, r.reason, r.attempt, r.partition,
              r.holds_permits, r.awaits_replay, e.retry_in, e.outcome, e.attempt_reason,
              e.exit_code, e.http_status, e.output, e.output_cut,
              e.fingerprint, e.error, e.results
),
given_back AS MATERIALIZED (
    SELECT give_back(array(SELECT id FROM moved WHERE holds_permits))
),
logged AS (
    -- include: logged
),
retried AS (
    INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
    SELECT partition, retry_at, id, due_at, team_id, 'retry' FROM moved WHERE state = 'retrying'
),
buried AS (
    -- include: buried
)
SELECT m.id, m.due_at, m.fire_at, m.claimed_at, m.started_at, m.finished_at, m.retry_at, m.kind,
       m.state, m.reason, m.attempt, t.name AS team, j.name AS job,
       EXISTS (SELECT FROM upstreams WHERE team_id = j.team_id AND name = j.name) AS is_followed,
       CASE WHEN j.overlap IN ('queue', 'replace') OR m.kind = 'backfill'
            OR m.awaits_replay IS NOT NULL THEN m.job_id END AS awaited
FROM given_back
CROSS JOIN moved m
JOIN jobs j ON j.id = m.job_id
JOIN teams t ON t.id = j.team_id

-- name: which_recorded
SELECT w.run_id
FROM unnest(:run_ids::uuid[], :due_ats::timestamptz[], :numbers::integer[])
    AS w (run_id, due_at, number)
JOIN attempts a ON a.run_id = w.run_id AND a.due_at = w.due_at AND a.number = w.number

-- name: heartbeat
-- A heartbeat may come late, after younger ones: what any of them called done stays done.
INSERT INTO executors (
    id, name, pools, slots, partition, first_seq, done_polls, first_heartbeat_at, heartbeat_at
)
SELECT :executor::uuid, :name, :pools::text[], :slots, :partition,
       least(:next_seq::bigint, min(seq)),  -- for processes of the version before
       int8multirange(int8range(1, :next_seq))
           - coalesce(range_agg(int8range(seq, seq, '[]')), '{}'),
       coalesce(:now::timestamptz, clock_timestamp()), coalesce(:now, clock_timestamp())
FROM unnest(:undone::bigint[]) AS seq
ON CONFLICT (id) DO UPDATE
SET heartbeat_at = excluded.heartbeat_at, pools = excluded.pools, slots = excluded.slots,
    first_seq = greatest(executors.first_seq, excluded.first_seq),
    done_polls = executors.done_polls + excluded.done_polls
WHERE executors.ended_at IS NULL
RETURNING id

-- name: close_handouts
-- Whatever comes late for a closed poll meets `done_polls`.
DELETE FROM handouts WHERE executor = :executor::uuid AND seq = ANY (:closed::bigint[])

-- name: to_stop
-- What is held but no longer to be held, or to be cancelled.
SELECT h.run_id, h.number, coalesce(r.cancel_at IS NOT NULL, false) AS cancelled
FROM unnest(:run_ids::uuid[], :due_ats::timestamptz[], :numbers::integer[])
    AS h (run_id, due_at, number)
LEFT JOIN runs r
    ON r.id = h.run_id AND r.due_at = h.due_at AND r.state = 'running'
   AND r.attempt = h.number AND r.executor = :executor::uuid
WHERE r.id IS NULL OR r.cancel_at IS NOT NULL

-- name: put_back
-- Hand-outs whose answer never arrived: their runs were never started, so they go back to the
-- front of the queue with the attempt not used up; unless their job was deleted meanwhile.
-- Only of the ranges that no heartbeat before has settled (see settled_polls.py), range by range:
-- by the OFFSET the planner can't look through all of the executor's polls first.
WITH dropped AS (
    DELETE FROM handouts
    WHERE executor = :executor::uuid
      AND seq = ANY (array(
          SELECT h.seq
          FROM unnest(:firsts::bigint[], :pasts::bigint[]) AS range (first, past)
          CROSS JOIN LATERAL (
              SELECT seq
              FROM handouts
              WHERE executor = :executor AND seq >= range.first AND seq < range.past
                AND NOT seq = ANY (:known::bigint[])
              OFFSET 0
          ) AS h
      ))
    RETURNING run_ids
),
freed AS (
    UPDATE runs r
    SET state = CASE WHEN r.cancel_at IS NULL AND j.state <> 'deleted' THEN 'queued'
                     ELSE 'cancelled' END,
        finished_at = CASE WHEN r.cancel_at IS NOT NULL OR j.state = 'deleted'
                           THEN coalesce(:now::timestamptz, clock_timestamp()) END,
        attempt = r.attempt - 1,
        rank = coalesce(r.rank, rank_at(r.claimed_at, r.priority)),
        executor = NULL,
        started_at = NULL
    FROM dropped d
    CROSS JOIN LATERAL unnest(d.run_ids) AS given (run_id)
    CROSS JOIN jobs j
    WHERE r.id = given.run_id
      AND r.due_at = run_due_at(given.run_id)
      AND r.state = 'running'
      AND r.executor = :executor
      AND j.id = r.job_id
    RETURNING r.id, r.due_at, r.pool, r.rank, r.state, r.holds_permits,
              r.shared_losses >= :suspect_after::integer AS alone
),
given_back AS MATERIALIZED (
    SELECT give_back(array(SELECT id FROM freed WHERE holds_permits AND state = 'cancelled'))
),
queued AS (
    SELECT * FROM freed WHERE state = 'queued'
),
enqueued AS (
    -- include: enqueue
)
SELECT (SELECT count(*)::integer FROM freed) AS count FROM given_back

-- name: stop
UPDATE executors
SET ended_at = coalesce(:now::timestamptz, clock_timestamp()), stopped = true
WHERE id = :executor::uuid AND ended_at IS NULL
RETURNING id

-- name: seen
SELECT id, name, heartbeat_at FROM executors WHERE ended_at IS NULL LIMIT 10000

-- name: declare_lost
UPDATE executors
SET ended_at = coalesce(:now::timestamptz, clock_timestamp())
WHERE id = :executor::uuid AND ended_at IS NULL AND heartbeat_at = :heartbeat_at::timestamptz
RETURNING id

-- name: abandoned_runs
-- By executors_to_empty, from the executors that ended and may still have hand-outs. By the OFFSET
-- the planner can't begin with all hand-outs, and as it is materialized, not with all runs.
WITH given AS MATERIALIZED (
    SELECT e.id AS executor, unnest(h.run_ids) AS run_id
    FROM executors e
    CROSS JOIN LATERAL (SELECT run_ids FROM handouts WHERE executor = e.id OFFSET 0) AS h
    WHERE e.ended_at IS NOT NULL AND NOT e.is_empty
)
SELECT r.executor,
    -- include: tried
FROM given g
JOIN LATERAL (
    SELECT id, job_id, executor, attempt, lost_count, shared_losses, claimed_at, cancel_at, revision
    FROM runs
    WHERE id = g.run_id
      AND due_at = run_due_at(g.run_id)
      AND state = 'running'
      AND executor = g.executor
    LIMIT 1  -- an id has one run; said so that the planner looks each up by its index
) r ON true
JOIN jobs j ON j.id = r.job_id
-- include: called
LIMIT :limit

-- name: emptied
-- By executors_to_empty: those that ended and have no hand-out any more.
SELECT e.id
FROM executors e
WHERE e.ended_at IS NOT NULL AND NOT e.is_empty
  AND NOT EXISTS (SELECT FROM handouts h WHERE h.executor = e.id)
LIMIT :limit

-- name: lock_executors
-- Whoever hands out again what an executor held locks it, too: its hand-outs are looked at once more
-- after that, by another statement.
SELECT id
FROM executors
WHERE id = ANY (:executors::uuid[])
ORDER BY id
FOR NO KEY UPDATE SKIP LOCKED

-- name: note_empty
UPDATE executors e
SET is_empty = true
WHERE e.id = ANY (:executors::uuid[])
  AND NOT EXISTS (SELECT FROM handouts h WHERE h.executor = e.id)

-- name: drop_handouts
DELETE FROM handouts h
WHERE h.executor = :executor::uuid
  AND NOT EXISTS (
      SELECT
      FROM unnest(h.run_ids) AS given (run_id)
      JOIN runs r ON r.id = given.run_id AND r.due_at = run_due_at(given.run_id)
      WHERE r.state = 'running' AND r.executor = h.executor
  )
