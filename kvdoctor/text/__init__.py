"""Text matched and rendered without regard to its meaning: templates, phrases, indexes."""
