"""Running an installation: processes, backups, upgrades, checks."""
