-- What a step writes beside its runs: their places, and what has ended or is left out.
placed AS (
    INSERT INTO waiting (partition, ready_at, run_id, due_at, team_id, cause)
    SELECT partition, claimed_at, id, due_at, team_id, 'claim' FROM made
),
opened AS (
    INSERT INTO backfill_runs (backfill_id, run_id, due_at)
    SELECT c.id, m.id, m.due_at FROM current c CROSS JOIN made m
),
closed AS (
    DELETE FROM backfill_runs o
    USING current c
    WHERE o.backfill_id = c.id AND o.run_id = ANY (:ended_ids::uuid[])
),
noted AS (
    INSERT INTO backfill_left_out (backfill_id, first_at, last_at, due_count, reason)
    SELECT c.id, l.*
    FROM current c
    CROSS JOIN unnest(
        :first_ats::timestamptz[], :last_ats::timestamptz[], :due_counts::integer[],
        :reasons::text[]
    ) AS l (first_at, last_at, due_count, reason)
    ON CONFLICT DO NOTHING
),
