"""Long-term memory: knows neither Telegram nor Anthropic."""
