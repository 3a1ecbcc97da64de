"""Any server that speaks the OpenAI API, over HTTP.

Reading order: spec (the entry of a plan), backend (a turn from question to record), client and connection (stamps at
the socket), sse and reading (what a stream says), dialects (what each engine adds), observing (the record).
"""
