-- What is reserved beyond the share, given up so that others may take it over: who does not take it
-- must not keep it from them. What is locked is given up next time.
surplus AS MATERIALIZED (
    SELECT partition
    FROM partitions
    WHERE successor = :holder
      AND partition = ANY (array(SELECT partition FROM mine WHERE place > :count::integer))
    ORDER BY partition
    FOR NO KEY UPDATE SKIP LOCKED
),
given_up AS (
    UPDATE partitions p
    SET successor = NULL, is_ready = false
    FROM surplus
    WHERE p.partition = surplus.partition
),
