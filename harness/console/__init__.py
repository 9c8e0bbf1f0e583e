"""Terminal output: progress, suggestions of known names, and text that is safe to show."""
