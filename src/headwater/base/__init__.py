"""The foundation of everything else: settings, logs, files, telemetry, the way out."""
