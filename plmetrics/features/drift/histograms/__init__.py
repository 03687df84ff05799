"""Histograms of both windows of a drift comparison, from the counts that its measures read."""
