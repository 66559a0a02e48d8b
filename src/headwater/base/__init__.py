"""Foundations: settings, logs, files, telemetry, outgoing requests."""
