"""The console: server-rendered pages that work without JavaScript."""
