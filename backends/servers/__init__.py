"""Engines that Draftmark starts as servers, one for each arm, and asks over HTTP.

Reading order: spec (what the four entries of a plan share), arguments (settings as a command line), vllm, sglang,
trtllm and llamacpp (a drafter in each server's terms), backend (start, ask, stop), launching (one server's life, seen
from here), keeper (the process that outlives a killed Draftmark long enough to end the server).
"""
