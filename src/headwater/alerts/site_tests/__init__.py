"""Tests of sites: follow one visit from the page to the order and report faults on the way."""
