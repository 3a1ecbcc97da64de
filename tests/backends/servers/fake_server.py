"""A server for tests of launching: loads slowly, forks, dies, hangs, clings to life and talks too much, as it is told.

`fake_server.py --port N [--load S] [--say TEXT] [--die CODE] [--hang] [--stubborn] [--forks FILE] [--tell FILE]`
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--host")
parser.add_argument("--port", type=int)
parser.add_argument("--load", type=float, default=0.0)
parser.add_argument("--say", action="append", default=[])
parser.add_argument("--flood", type=int, default=0)
parser.add_argument("--unfinished", default="")
parser.add_argument("--die", type=int)
parser.add_argument("--hang", action="store_true")
parser.add_argument("--stubborn", action="store_true")
parser.add_argument("--forks", type=Path)
parser.add_argument("--tell", type=Path)
given, _ = parser.parse_known_args()

SLEEP = "import time; time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def note(pid: int) -> None:
    with given.forks.open("a") as file:
        file.write(f"{pid}\n")


if given.stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if given.tell:
    given.tell.write_text("\n".join([str(signal.getsignal(signal.SIGINT)), *sys.argv]))
if given.flood:
    say("x" * given.flood + "\n")
for text in given.say:
    say(os.path.expandvars(text) + "\n")
say(given.unfinished)
if given.forks:
    note(os.getpid())
    program = STUBBORN if given.stubborn else SLEEP
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    note(child.pid)
    # One that leaves the session and the environment, and whose parent ends at once.
    detour = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {SLEEP!r}], env={{}}, "
    detour += "start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid, flush=True)"
    note(int(subprocess.run([sys.executable, "-c", detour], capture_output=True, check=True).stdout))
if given.die is not None:
    time.sleep(given.load)
    sys.exit(given.die)

READY = time.monotonic() + given.load


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/die":
            os._exit(3)
        if self.path == "/stall":
            given.hang = True
        while given.hang:
            time.sleep(0.1)
        self.send_response(200 if time.monotonic() >= READY else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        return


ThreadingHTTPServer.daemon_threads = True
server = ThreadingHTTPServer(("127.0.0.1", given.port), Handler)
server.serve_forever()
