"""What a person sees: progress, the nearest known name, and text that is safe to show."""
