-- Reads for owners: the executors that are alive, and the jobs that once had a name.
CREATE INDEX executors_alive ON executors (id) WHERE ended_at IS NULL;
CREATE INDEX jobs_name_ever ON jobs (team_id, name);
