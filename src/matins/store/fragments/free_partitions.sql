-- Nobody's partitions, and those of a lease that has run out; that of the holder itself, too. A lease
-- that ends later than one granted now is from before the clock went back: it is free, or nobody
-- could take over from a dead holder for as long as the clock went back. What is reserved for the
-- holder comes first; what is for others waits for them while they are alive.
SELECT p.partition
FROM partitions p
LEFT JOIN schedulers s ON s.id = p.holder
CROSS JOIN LATERAL (
    SELECT CASE p.expires_at WHEN 'infinity' THEN s.expires_at ELSE p.expires_at END
) AS lease (ends_at)
WHERE (
          p.holder IS NULL
          OR lease.ends_at IS NULL
          OR lease.ends_at <= coalesce(:now, clock_timestamp())
          OR lease.ends_at > coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s::float8)
      )
  AND NOT EXISTS (
      SELECT FROM schedulers r
      WHERE r.id = p.successor
        AND r.id <> :holder
        AND NOT r.leaving
        AND r.expires_at > coalesce(:now, clock_timestamp())
        AND r.expires_at <= coalesce(:now, clock_timestamp()) + make_interval(secs => :ttl_s)
  )
ORDER BY p.successor IS DISTINCT FROM :holder, p.partition
LIMIT :count
FOR NO KEY UPDATE OF p SKIP LOCKED
