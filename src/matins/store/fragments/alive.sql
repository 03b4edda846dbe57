-- The schedulers that are alive and don't leave. A sign of life from the future is from before the
-- clock went back.
SELECT id
FROM schedulers
CROSS JOIN LATERAL (
    SELECT coalesce(expires_at, renewed_at + make_interval(secs => :ttl_s::float8))
) AS lease (ends_at)
WHERE NOT leaving
  AND lease.ends_at > coalesce(:now::timestamptz, clock_timestamp())
  AND lease.ends_at <= coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s)
