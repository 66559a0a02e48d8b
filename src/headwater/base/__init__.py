"""What everything else stands on: settings, logs, files, telemetry, the way out."""
