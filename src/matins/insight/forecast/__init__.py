"""The load ahead: how many fires each minute holds, computed without walking through them."""
