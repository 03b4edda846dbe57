-- The holder's lease once its row is locked, so that a long wait grants no less time.
SELECT watermark, settled, renewed_at,
       expires_at > coalesce(:now::timestamptz, clock_timestamp()) AS in_force
FROM (
    SELECT watermark, settled, renewed_at, expires_at
    FROM schedulers
    WHERE id = :holder::uuid
    FOR NO KEY UPDATE
) AS locked
