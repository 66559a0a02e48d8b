"""What an installation tells of itself to those who operate it: counters and spans."""
