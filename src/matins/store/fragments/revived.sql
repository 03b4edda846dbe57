-- What goes with the runs of `reopened`: their letters are closed, they wait for their retry, and what was
-- skipped because of them is decided about anew.
closed AS (
    DELETE FROM dead_letters d USING reopened r WHERE d.run_id = r.id
),
retried AS (
    INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
    SELECT partition, retry_at, id, due_at, team_id, 'retry' FROM reopened
),
looked_for AS (
    -- include: looked_for
),
again AS (
    INSERT INTO links_again (partition, job_id, due_at)
    SELECT d.partition, d.id, r.due_at
    FROM reopened r
    JOIN upstreams u ON u.team_id = r.team_id AND u.name = r.job
    JOIN jobs d ON d.id = u.job_id
    ON CONFLICT DO NOTHING
)
