"""Backfills: past due times of a job that are made up for, under the revisions of then."""
