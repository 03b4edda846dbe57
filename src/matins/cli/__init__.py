"""The command `matins`: a thin face of the SDK, and of the roles that it starts."""
