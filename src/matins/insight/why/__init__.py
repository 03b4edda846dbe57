"""Why a run did, did not, or does not yet happen: told in steps from what is recorded."""
