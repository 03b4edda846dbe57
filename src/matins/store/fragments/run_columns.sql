r.id, r.due_at, r.fire_at, r.claimed_at, r.started_at, r.finished_at, r.retry_at, r.kind,
r.state, r.reason, r.attempt, r.pool, r.due_until, r.due_count, r.lost_count, r.cancel_at,
t.name AS team, j.name AS job
