"""Match and merge contacts. No I/O."""
