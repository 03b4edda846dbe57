-- The runs of a chain that is brought back may be due before its `open_since`: they are looked for, too.
-- As in 0022, but for that.
CREATE OR REPLACE FUNCTION wake_chains(leader uuid, due timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    led record;
BEGIN
    IF due IS NOT NULL THEN
        FOR led IN SELECT job_id FROM led_by(leader) ORDER BY depth, job_id LOOP
            UPDATE jobs
            SET follows = least(follows, greatest(due, chain_begin(since, created_at))),
                open_since = least(open_since, greatest(due, chain_begin(since, created_at)))
            WHERE id = led.job_id AND state <> 'deleted';
        END LOOP;
    END IF;
    RETURN true;
END
$$;

UPDATE jobs SET open_since = follows WHERE open_since > follows;
