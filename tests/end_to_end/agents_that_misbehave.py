"""Agents that hang, take too much or leave something behind; used as `agents_that_misbehave:NAME`."""

from __future__ import annotations

import contextlib
import ctypes
import locale
import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from agents_that_end import Options as EndsOptions
from agents_that_end import Renders, Traced

MEGABYTE = 1_000_000


def oom_score():
    """How much sooner than others the system ends this process when memory runs out; 0: no sooner."""
    file = Path("/proc/self/oom_score_adj")
    return int(file.read_text()) if file.exists() else 0


class Options(EndsOptions):
    """`how` happens in the episode `at`, or in every one if `always`."""

    always: bool = False
    amount: int = 0


class Misbehaves(Renders):
    """Looks at a picture in every episode, and in some misbehaves before."""

    Options = Options

    def __init__(self, options, context):
        self.kept = []
        super().__init__(options, context)

    def at(self, where):
        if where != self.options.where:
            return
        if where == "init" or self.options.always or self.drawn == self.options.at:
            getattr(self, self.options.how)()

    def report(self):
        self.at("report")
        return {**super().report(), "pid": os.getpid(), "folder": Path.cwd().name, "oom": oom_score()}

    def close(self):
        self.at("close")

    def disturb_nothing(self):
        pass

    def write_pid(self):
        with Path(self.options.trace + ".pids").open("a") as file:
            file.write(f"{os.getpid()}\n")

    def raise_it(self):
        raise ValueError("on purpose")

    def hang(self):
        while True:
            time.sleep(60)

    def hang_in_c(self):
        """Inside code that holds the interpreter lock: no thread of Python runs any more."""
        ctypes.PyDLL(None).sleep(600)

    def hang_in_worker(self):
        if sys.argv == ["rbench worker"]:
            self.hang()

    def deaf(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self.hang()

    def drawing_hangs(self):
        self.draw_with(lambda *_: time.sleep(600))

    def allocate(self):
        self.kept.append(bytearray(b"x") * (self.options.amount * MEGABYTE))
        time.sleep(600)

    def leak_memory(self):
        self.kept.append(bytearray(b"x") * (self.options.amount * MEGABYTE))

    def leak_files(self):
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (1000, hard))
        self.kept += [os.open(os.devnull, os.O_RDONLY) for _ in range(self.options.amount)]

    def print_much(self):
        print("first line")
        line = b"." * 999_999 + b"\n"
        for _ in range(self.options.amount):
            os.write(1, line)

    def print_and_exit(self):
        os.write(1, b"unfinished, then\nlast words")
        os._exit(7)

    def fill_temporary(self):
        with (Path(tempfile.gettempdir()) / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))

    def close_low(self):
        os.closerange(0, 30)

    def close_all(self):
        os.closerange(0, 4096)

    def disturb(self):
        os.chdir("/")
        os.umask(0o777)
        os.environ.clear()
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, "C")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0.5)

    def read_in_thread(self):
        """And never ask what became of it."""
        camera = self.observation.cameras["front"]
        threading.excepthook = lambda *_: None
        thread = threading.Thread(target=lambda: camera.rgb)
        thread.start()
        thread.join()

    def act(self, observation):
        self.observation = observation
        return super().act(observation)

    def leave_behind(self):
        """A child, one in a session of its own that listens on a port, a thread, and a file of theirs."""
        listening = socket.create_server(("127.0.0.1", 0))
        code = "import time; time.sleep(1000)"
        command = [sys.executable, "-c", code]
        children = [
            subprocess.Popen(command),
            subprocess.Popen(command, start_new_session=True, pass_fds=[listening.fileno()]),
            subprocess.Popen(["nohup", *command], start_new_session=True, stderr=subprocess.DEVNULL),
        ]
        self.kept += [listening, children]
        threading.Thread(target=time.sleep, args=(1000,)).start()
        with Path(self.options.trace + ".left").open("a") as file:
            file.write(f"{listening.getsockname()[1]} {' '.join(str(child.pid) for child in children)}\n")

    def leave_behind_and_hang(self):
        self.leave_behind()
        self.hang()

    def leave_behind_and_exit(self):
        self.leave_behind()
        os._exit(7)


class Wanders(Traced):
    """Changes the working directory whenever it is asked something."""

    def at(self, where):
        os.chdir("/usr" if where == "init" else "/")
