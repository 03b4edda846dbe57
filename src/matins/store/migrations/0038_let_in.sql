-- The revision of its job under which a run was let into a gate's line. Under a later one it is asked about
-- anew when its turn comes, since the job may say something else of overlap.
ALTER TABLE waiting ADD COLUMN let_in integer;
