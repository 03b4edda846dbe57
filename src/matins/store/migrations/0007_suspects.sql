-- How often a run was lost in company: with others, when what ran them died. From the second time on
-- it is a suspect, and is tried alone (domain/runs/states.py): `alone` marks its place on the queue.
ALTER TABLE runs ADD COLUMN shared_losses integer NOT NULL DEFAULT 0;
ALTER TABLE dispatch ADD COLUMN alone boolean NOT NULL DEFAULT false;
