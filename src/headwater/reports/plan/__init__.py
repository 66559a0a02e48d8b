"""What a report is over: kinds, groups, buckets of time, selections."""
