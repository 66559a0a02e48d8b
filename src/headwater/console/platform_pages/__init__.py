"""Ad platforms: overview, connection steps and deliveries."""
