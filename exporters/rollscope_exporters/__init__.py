"""The bridge: OTLP in, a durable inbox, one worker per backend."""
