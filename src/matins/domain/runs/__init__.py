"""States of runs, claims, and the ledger of due times."""
