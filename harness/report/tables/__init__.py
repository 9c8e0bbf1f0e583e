"""Tables for the templates: cells that know how they sort and why they are empty."""
