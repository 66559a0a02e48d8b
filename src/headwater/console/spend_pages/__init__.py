"""Pages of connections and watched addresses that bring spend."""
