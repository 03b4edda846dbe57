-- The partitions of a holder under their epochs, locked. FOR SHARE: a take-over waits for us, or we
-- for it; only then, under READ COMMITTED, is the epoch compared. An EXISTS would compare a snapshot
-- and let stale claims through.
SELECT p.partition
FROM unnest(:partitions::smallint[], :epochs::bigint[]) AS h (partition, epoch)
JOIN partitions p ON p.partition = h.partition
WHERE p.holder = :holder::uuid
  AND p.epoch = h.epoch
  AND (SELECT expires_at FROM schedulers WHERE id = :holder)
      > coalesce(:now::timestamptz, clock_timestamp())
ORDER BY p.partition
FOR SHARE OF p
