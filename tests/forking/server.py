"""A process with JAX and Keras imported, which forks for each program: `server.py SOCKET_FD`.

In: requests on a socket, each with the files of the new program.  Out: its process number, and when
it has ended how, on a pipe of its own.  JAX has not started here, and the only threads are
OpenBLAS', which ends them before a fork and starts them again when it needs them: what is forked is
as good as new.  The server ends, and its programs with it, when nobody asks any
more.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import sys
from typing import Any


class Server:
    """Forks, and tells how each child ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._ends: dict[int, int] = {}
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._woken, False)
        self._wake = wake
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asked

    def next_program(self) -> dict[str, Any]:
        """Serve; return in each child, with what it is to run."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._requests, selectors.EVENT_READ)
            ready.register(self._woken, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    if key.fd == self._woken:
                        os.read(self._woken, 4096)
                        self._tell_ends()
                    elif (request := self._request()) is not None:
                        return request

    def _request(self) -> dict[str, Any] | None:
        head, files, _, _ = socket.recv_fds(self._requests, 8, 4)
        if not head:
            for pid in self._ends:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
            os._exit(0)
        text = b""
        while len(text) < int(head):
            text += self._requests.recv(int(head) - len(text))
        pid = os.fork()
        if pid == 0:
            self._leave(files)
            return json.loads(text)
        for file in files[:3]:
            os.close(file)
        os.write(files[3], f"{pid}\n".encode())
        self._ends[pid] = files[3]
        return None

    def _tell_ends(self) -> None:
        for pid, end in list(self._ends.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                os.write(end, f"{os.waitstatus_to_exitcode(status)}\n".encode())
                os.close(end)
                del self._ends[pid]

    def _leave(self, files: list[int]) -> None:
        """Keep nothing of the server but what it has imported."""
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for place, file in enumerate(files[:3]):
            os.dup2(file, place, inheritable=True)
        for file in (*files, *self._ends.values(), self._woken, self._wake):
            os.close(file)
        self._requests.close()


def main() -> None:
    """Import, serve, and become a program in each child."""
    from tests.forking.hidden import Hidden
    from tests.forking.program import become

    requests = socket.socket(fileno=int(sys.argv[1]))
    hidden = Hidden()
    gc.collect()
    gc.freeze()
    request = Server(requests).next_program()
    hidden.hide()
    become(**request)


if __name__ == "__main__":
    main()
