-- The job `j` is a check-in.
AND j.state <> 'deleted' AND j.spec #> '{target,checkin}' IS NOT NULL
