"""Pages of sites: reporting websites, snippets and tests."""
