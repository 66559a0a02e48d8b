"""Alert rules that members make: a figure of a report, a comparison and a threshold."""
