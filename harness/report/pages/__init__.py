"""Pages: what stands on each, put together from tables, figures and sentences."""
