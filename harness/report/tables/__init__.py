"""Tables for the templates: cells with sort keys and reasons for missing values."""
