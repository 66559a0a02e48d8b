"""What commands share: reaching the database, naming failures, printing, and options."""
