"""What a client sends, read into values."""
