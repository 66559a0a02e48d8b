"""Parts of the supervisor: its processes, its signals, and how it becomes another version."""
