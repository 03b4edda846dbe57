-- Put the runs of `queued` on the dispatch queue, each with the rank that its row was given.
INSERT INTO dispatch (pool, rank, run_id, due_at, alone)
SELECT pool, rank, id, due_at, alone
FROM queued
