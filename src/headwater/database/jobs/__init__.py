"""Background jobs, the worker that runs them, and its child processes."""
