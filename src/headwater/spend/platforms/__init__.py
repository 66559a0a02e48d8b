"""The ad platforms whose spend is pulled, a folder each. A folder can be removed with its tests."""
