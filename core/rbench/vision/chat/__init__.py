"""The vision model `openai`: any endpoint that speaks the OpenAI protocol for chat completions."""
