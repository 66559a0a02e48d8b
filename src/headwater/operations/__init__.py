"""Operation of an installation: processes, backups, upgrades, checks."""
