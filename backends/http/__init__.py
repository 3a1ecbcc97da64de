"""Any server that speaks the OpenAI API, over HTTP."""
