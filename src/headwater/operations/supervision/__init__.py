"""Parts of the supervisor: processes, signals, and the change to another version."""
