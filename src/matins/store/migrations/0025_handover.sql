-- What a scheduler tells of itself with each renewal; older ones tell nothing.
-- `leaving`: it is about to end, and no share of the partitions is for it.
ALTER TABLE schedulers
    ADD COLUMN name text,
    ADD COLUMN version text,
    ADD COLUMN since timestamptz,
    ADD COLUMN wheel_size integer,
    ADD COLUMN clock_offset_s float8,
    ADD COLUMN lag_s float8,
    ADD COLUMN leaving boolean NOT NULL DEFAULT false;

-- `offered`: its holder is about to give it up. `successor`: who is to have it, and takes no care of
-- it yet; once that one has loaded its jobs it is `ready`.
ALTER TABLE partitions
    ADD COLUMN offered boolean NOT NULL DEFAULT false,
    ADD COLUMN successor uuid,
    ADD COLUMN is_ready boolean NOT NULL DEFAULT false;
