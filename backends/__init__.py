"""Engines and drafters behind one protocol."""
