"""Ad platform accounts that a Space forwards events to."""
