-- What `decide` must know of a running run: how often it was tried, since when it is there, its policy,
-- and the kind of target, which says what the policy does not.
r.id, r.attempt, r.lost_count, r.shared_losses,
r.cancel_at IS NOT NULL OR j.state = 'deleted' AS cancel_requested,
extract(epoch FROM coalesce(:now::timestamptz, clock_timestamp()) - r.claimed_at)::float8 AS age_s,
coalesce(called.spec ->> 'retry', '{}') AS policy,
jsonb_path_query_first(called.spec, '$.target.keyvalue().key', '{}', true) #>> '{}' AS target
