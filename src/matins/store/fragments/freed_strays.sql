-- Give up the partitions of `stray`, at the watermark that their lease has reached.
UPDATE partitions p
SET holder = NULL, expires_at = NULL, watermark = l.watermark, offered = false
FROM stray
JOIN leases l ON l.partition = stray.partition
WHERE p.partition = stray.partition
