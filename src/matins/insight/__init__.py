"""What only people look at: sentences, warnings, forecasts, previews; nothing the engine needs."""
