-- What was decided, in the rows of the runs. A retry keeps the reason for which it is one.
UPDATE runs r
SET state = d.state,
    reason = CASE WHEN d.state = 'queued' AND r.state = 'retrying' THEN r.reason
                  ELSE d.reason END,
    retry_at = NULL,
    awaits_replay = CASE WHEN r.awaits_replay IS NOT NULL THEN d.state = 'waiting' END,
    rank = coalesce(d.rank, rank_at(coalesce(:now, clock_timestamp()), r.priority)),
    holds_permits = r.id IN (SELECT run_id FROM promised),
    finished_at = CASE d.state WHEN 'skipped' THEN coalesce(:now, clock_timestamp()) END
FROM decided d
WHERE r.id = d.run_id AND r.due_at = d.due_at AND r.state IN ('waiting', 'retrying')
RETURNING r.id, r.due_at, r.pool, r.rank, r.partition, r.team_id, r.state, d.until, d.cause,
          d.blocker, d.asked, d.gate_id, d.line_rank, d.let_in, d.left_gate_id, r.holds_permits,
          r.shared_losses >= :suspect_after::integer AS alone
