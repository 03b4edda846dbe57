-- A lease has one row a scheduler, in `schedulers`: a renewal writes it alone, however many
-- partitions its holder has. A renewal of each partition's row had grown slower without bound while
-- an old snapshot kept all its versions. The fence stays where it was: in `partitions`, which are
-- written only when their holder changes.

-- `expires_at` null: a scheduler of the version before, with terms in `partitions`.
-- All fire times of the partitions in `settled` have their rows up to `watermark`.
ALTER TABLE schedulers
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN watermark timestamptz,
    ADD COLUMN settled smallint[] NOT NULL DEFAULT '{}';

-- `partitions.expires_at` is infinite where the holder's lease says it, so that a scheduler of the
-- version before takes nothing over that is held.
CREATE VIEW leases AS
SELECT p.partition, p.epoch, p.holder,
       CASE p.expires_at WHEN 'infinity' THEN coalesce(s.expires_at, '-infinity')
                         ELSE p.expires_at END AS expires_at,
       greatest(p.watermark, CASE WHEN p.partition = ANY (s.settled) THEN s.watermark END)
           AS watermark
FROM partitions p
LEFT JOIN schedulers s ON s.id = p.holder;
