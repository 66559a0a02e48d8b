"""The authorization server: assistants are let in by people, to one Space each."""
