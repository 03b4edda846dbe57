-- The run of a job that died last is told of, however many others were due since.
CREATE INDEX dead_letters_job ON dead_letters (job_id, dead_at);
