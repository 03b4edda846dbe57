-- Put the runs of `queued` on the dispatch queue. This is where ranks are made: first come, first
-- served, by the time `ranked_at`, in microseconds since 1970.
INSERT INTO dispatch (pool, priority, rank, run_id, due_at, alone)
SELECT pool, priority, (extract(epoch FROM ranked_at) * 1000000)::bigint, id, due_at, alone
FROM queued
