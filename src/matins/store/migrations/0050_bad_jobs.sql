-- Since when the job of a watch has been bad by the last of its rules. Whether such jobs have changed is
-- asked, of all within a minute: a slice each second.
ALTER TABLE watches ADD COLUMN bad_since timestamptz;
UPDATE watches w
SET bad_since = a.since
FROM (SELECT job_id, max(since) AS since FROM alerts WHERE is_bad GROUP BY job_id) AS a
WHERE a.job_id = w.job_id;
CREATE INDEX watches_bad ON watches ((get_byte(uuid_send(job_id), 15) % 60)) WHERE bad_since IS NOT NULL;
CREATE INDEX watches_bad_since ON watches (bad_since) WHERE bad_since IS NOT NULL;
