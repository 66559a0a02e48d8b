"""Links with tags: made, checked and explained."""
