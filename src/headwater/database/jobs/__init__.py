"""Background work: duties, the worker that does them, and the processes that it keeps running."""
