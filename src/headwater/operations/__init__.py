"""The care of an installation: processes, backups, upgrades, checks."""
