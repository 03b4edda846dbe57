-- What was decided, out of the waiting room; a column that came empty says the same of all. The gates
-- are counted so that they are locked in any case, also by runs that only line up.
DELETE FROM waiting w
USING unnest(
    :run_ids::uuid[], :run_partitions::smallint[], :ready_ats::timestamptz[], :ranks::bigint[],
    :states::text[], :reasons::text[], :untils::timestamptz[], :causes::text[],
    :blockers::text[], :asked::bigint[], :job_ids::uuid[], :line_gates::bigint[],
    :line_ranks::bigint[], :line_revisions::integer[]
) AS d (run_id, partition, ready_at, rank, state, reason, until, cause, blocker, asked, job_id,
        gate_id, line_rank, let_in)
WHERE (d.partition IN (SELECT partition FROM fence)) IS TRUE
  AND w.partition = d.partition AND w.ready_at = d.ready_at AND w.run_id = d.run_id
  AND (w.team_id IS NULL OR w.team_id IN (SELECT id FROM believed))
  AND (d.job_id IN (SELECT id FROM changed)) IS NOT TRUE
  AND d.run_id NOT IN (SELECT run_id FROM promised WHERE is_contended)
  AND (SELECT count(*) FROM locked_gates) >= 0
RETURNING w.run_id, w.due_at, coalesce(d.state, 'queued') AS state, coalesce(d.reason, '') AS reason,
          d.until, coalesce(d.cause, '') AS cause, coalesce(d.blocker, '') AS blocker, d.asked, d.rank,
          d.gate_id, d.line_rank, d.let_in, w.gate_id AS left_gate_id
