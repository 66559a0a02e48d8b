"""The sources of touches: from parameters and URLs to one of the listed sources."""
