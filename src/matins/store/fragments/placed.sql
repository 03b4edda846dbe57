-- Where the runs of `made` go: what must be asked about waits for that, all else is queued.
asked AS (
    INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
    SELECT partition, claimed_at, id, due_at, team_id, 'claim'
    FROM made
    WHERE state = 'waiting'
    RETURNING run_id, partition, ready_at, team_id
),
queued AS (
    SELECT * FROM made WHERE state = 'queued'
),
enqueued AS (
    -- include: enqueue
)
