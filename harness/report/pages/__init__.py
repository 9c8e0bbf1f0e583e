"""Pages, assembled from tables, figures and sentences."""
