-- The waiting room: all runs that may not start yet. What is asked about them, and what is done.

-- name: load_waiting
-- By the primary key, page by page as jobs are loaded. A row without a team is of a run that is gone.
SELECT w.run_id, w.partition, w.ready_at, w.team_id, w.cause, w.let_in, coalesce(r.pool, '') AS pool,
       coalesce(r.priority, 1) AS priority
FROM unnest(:partitions::smallint[], :after_ats::timestamptz[], :after_ids::uuid[])
    AS held (partition, after_at, after_id)
CROSS JOIN LATERAL (
    SELECT run_id, due_at, partition, ready_at, team_id, cause, let_in
    FROM waiting
    WHERE waiting.partition = held.partition
      AND (ready_at, run_id) > (held.after_at, held.after_id)
      AND ready_at <= :until::timestamptz
    ORDER BY ready_at, run_id
    LIMIT :share
) AS w
LEFT JOIN LATERAL (
    SELECT pool, priority FROM runs WHERE id = w.run_id AND due_at = w.due_at LIMIT 1
) AS r ON true

-- name: ask_again
-- What was found under older rules of its team comes due now, and is decided about anew. So it does
-- not matter what a decision saw that was under way when the rules changed. By waiting_asked: a
-- look for each team of which something is held, however much.
WITH RECURSIVE holding AS (
    SELECT min(team_id) AS team_id FROM waiting WHERE asked IS NOT NULL
    UNION ALL
    SELECT (
        SELECT min(w.team_id) FROM waiting w WHERE w.asked IS NOT NULL AND w.team_id > h.team_id
    )
    FROM holding h
    WHERE h.team_id IS NOT NULL
),
outdated AS (
    SELECT w.partition, w.ready_at, w.run_id, clock.now
    FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
    CROSS JOIN holding h
    JOIN teams t ON t.id = h.team_id
    JOIN waiting w ON w.team_id = h.team_id AND w.asked < t.rules_revision
    WHERE w.ready_at > clock.now AND w.partition = ANY (:partitions::smallint[])
    LIMIT :limit
)
UPDATE waiting w
SET ready_at = o.now
FROM outdated o
WHERE w.partition = o.partition AND w.ready_at = o.ready_at AND w.run_id = o.run_id

-- name: rules
-- By the primary key, and by windows_team. A revision is never younger than what is told with it.
SELECT t.id AS team_id, t.rules_revision, clock.now,
       coalesce((
           SELECT json_agg(w)
           FROM (
               SELECT name, starts_at, ends_at, policy, labels, reason
               FROM windows
               WHERE team_id = t.id
                 AND starts_at <= clock.now
                 AND ends_at > least(:since::timestamptz, clock.now)
                 AND (policy = 'skip' OR ends_at > clock.now)
           ) AS w
       ), '[]')::text AS windows,
       (
           SELECT min(starts_at) FROM windows WHERE team_id = t.id AND starts_at > clock.now
       ) AS valid_until
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN unnest(:team_ids::integer[]) AS asked (team_id)
JOIN teams t ON t.id = asked.team_id

-- name: candidates
-- By the primary keys, and by gates_of_teams.
SELECT r.*, j.id AS job_id, j.revision AS job_revision, j.open_since,
       coalesce(j.spec -> 'labels', '{}')::text AS labels,
       coalesce(j.spec -> 'overlap', '"skip"')::text AS overlap,
       j.gates || array(
           SELECT id
           FROM gates
           WHERE team_id = j.team_id AND kind = 'team'
             AND (run_limit IS NOT NULL OR rate IS NOT NULL)
       ) AS gate_ids
FROM unnest(:run_ids::uuid[], :due_ats::timestamptz[]) AS w (run_id, due_at)
CROSS JOIN LATERAL (
    SELECT id, job_id, due_at, kind, state, fire_at, claimed_at, attempt, cancel_at, awaits_replay,
           allow_overlap, priority
    FROM runs
    WHERE id = w.run_id AND due_at = w.due_at
    LIMIT 1
) AS r
JOIN jobs j ON j.id = r.job_id

-- name: open_runs
-- By the unique key (job_id, due_at, kind) and by runs_id: what was due later, what is known, and what
-- backfills have made, by backfills_unfinished.
SELECT w.job_id, r.id, r.due_at, r.claimed_at, r.kind, r.state, r.attempt, r.cancel_at,
       r.awaits_replay
FROM unnest(:job_ids::uuid[], :sinces::timestamptz[]) AS w (job_id, since)
CROSS JOIN LATERAL (
    SELECT id, due_at, claimed_at, kind, state, attempt, cancel_at, awaits_replay
    FROM runs
    WHERE job_id = w.job_id AND due_at >= w.since AND finished_at IS NULL
    OFFSET 0
) AS r
UNION
SELECT r.job_id, r.id, r.due_at, r.claimed_at, r.kind, r.state, r.attempt, r.cancel_at,
       r.awaits_replay
FROM (
    SELECT * FROM unnest(:known_ids::uuid[], :known_due_ats::timestamptz[])
    UNION ALL
    SELECT o.run_id, o.due_at
    FROM backfills b
    JOIN backfill_runs o ON o.backfill_id = b.id
    WHERE b.job_id = ANY (:job_ids) AND b.finished_at IS NULL
) AS w (run_id, due_at)
CROSS JOIN LATERAL (
    SELECT job_id, id, due_at, claimed_at, kind, state, attempt, cancel_at, awaits_replay
    FROM runs
    WHERE id = w.run_id AND due_at = w.due_at AND finished_at IS NULL
    LIMIT 1
) AS r

-- name: wake_waiting
-- By waiting_overlap. What is being decided about, or woken by another, is passed over.
UPDATE waiting w
SET ready_at = coalesce(:now::timestamptz, clock_timestamp())
FROM (
    SELECT partition, ready_at, run_id
    FROM waiting
    WHERE cause = 'overlap' AND blocker = ANY (:blockers::text[])
    FOR UPDATE SKIP LOCKED
) AS held
WHERE w.partition = held.partition AND w.ready_at = held.ready_at AND w.run_id = held.run_id
RETURNING w.run_id, w.partition, w.ready_at, w.team_id, w.cause

-- name: carry_out
-- The row of `waiting` decides: whoever deletes it moves the run, once, and only under the rules, as the
-- job and past the gates by which it was decided.
WITH fence AS (
    -- include: fence
),
believed AS (
    -- include: believed
),
changed AS (
    -- include: changed_jobs
),
locked_gates AS MATERIALIZED (
    -- include: locked_gates
),
promised AS (
    -- include: promised
),
decided AS (
    -- include: decided
),
moved AS (
    -- include: moved_runs
),
held AS (
    -- include: stayed
),
permitted AS (
    -- include: permitted
),
passed AS (
    -- include: passed_gates
),
queued AS (SELECT * FROM moved WHERE state = 'queued'),
enqueued AS (
    -- include: enqueue
)
SELECT array(SELECT partition FROM fence) AS fenced,
       array(SELECT id FROM believed) AS believed,
       array(SELECT id FROM changed) AS changed,
       array(SELECT gate_id FROM promised WHERE is_contended) AS contended,
       array(SELECT DISTINCT pool FROM queued) AS pools,
       array(SELECT unnest(array[gate_id, CASE WHEN NOT holds_permits THEN left_gate_id END])
             FROM moved) AS gates

-- name: gate_lines
-- Gates, with those who stand first in their lines; no more than there might be room for, and :beside of
-- those who are asked about already. By waiting_line: a look for each gate. Without :gate_ids of all
-- that have a line. Whoever stands in a partition that nobody holds keeps nobody waiting.
WITH RECURSIVE lined AS (
    SELECT min(gate_id) AS id FROM waiting WHERE gate_id IS NOT NULL AND :gate_ids::bigint[] IS NULL
    UNION ALL
    SELECT (SELECT min(w.gate_id) FROM waiting w WHERE w.gate_id > l.id)
    FROM lined l
    WHERE l.id IS NOT NULL
),
asked AS (
    SELECT id FROM lined WHERE id IS NOT NULL UNION SELECT unnest(:gate_ids)
)
SELECT g.id AS gate_id, g.kind, g.name, g.run_limit, g.rate, g.next_start_at, g.revision,
       permits.taken, clock.now, w.line_rank, w.run_id, w.partition, w.team_id, w.cause, w.let_in,
       coalesce(r.pool, '') AS pool, coalesce(r.priority, 1) AS priority
FROM (SELECT coalesce(:now::timestamptz, clock_timestamp()) AS now) AS clock
CROSS JOIN asked
JOIN gates g ON g.id = asked.id
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS taken FROM permits WHERE gate_id = g.id AND g.run_limit IS NOT NULL
) AS permits
LEFT JOIN LATERAL (
    SELECT w.run_id, w.due_at, w.partition, w.team_id, w.cause, w.line_rank, w.let_in
    FROM waiting w
    JOIN leases l ON l.partition = w.partition AND l.expires_at > clock.now
    WHERE w.gate_id = g.id
    ORDER BY w.line_rank, w.run_id
    LIMIT CASE
        WHEN g.run_limit <= permits.taken OR g.rate IS NOT NULL AND g.next_start_at > clock.now THEN 0
        ELSE least(g.run_limit - permits.taken + :beside::bigint, :limit)
    END
) AS w ON true
LEFT JOIN LATERAL (
    SELECT pool, priority FROM runs WHERE id = w.run_id AND due_at = w.due_at LIMIT 1
) AS r ON true

-- name: record_open_since
-- Up to when all runs of jobs are over; what is claimed next may be due earlier, and so may the oldest
-- due time of a chain that is undecided.
WITH fence AS (
    -- include: fence
)
UPDATE jobs j
SET open_since = greatest(j.open_since, least(o.since, j.next_due_at, j.follows))
FROM unnest(:job_ids::uuid[], :job_partitions::smallint[], :sinces::timestamptz[])
    AS o (job_id, partition, since)
WHERE (o.partition IN (SELECT partition FROM fence)) IS TRUE AND j.id = o.job_id
