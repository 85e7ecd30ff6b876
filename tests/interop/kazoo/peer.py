"""kazoo's Lock, line by line: the requests are those of tests/support/peer.hpp.

    peer.py HOST:PORT[,HOST:PORT...] SESSION_MS [plain]

The kind "mutex" has Curator's names, as docs/stores/zookeeper.md says; "plain" is kazoo's Lock as it is, and with the
argument "plain" the kind "mutex" is that, too.
"""

import os
import queue
import sys
import threading
import time

import kazoo.version
from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout
from kazoo.recipe.lock import Lock


class SharedLock(Lock):
    _NODE_NAME = "-lock-"
    _EXCLUDE_NAMES = ["-lock-"]


server = KazooClient(hosts=sys.argv[1], timeout=int(sys.argv[2]) / 1000)
held = {}  # (thread, name) -> lock
speaking = threading.Lock()


def say(request, answer):
    with speaking:
        print(request, answer, flush=True)


def lock_of(kind, name):
    plain = kind == "plain" or sys.argv[3:] == ["plain"]
    return (Lock if plain else SharedLock)(server, "/locks/" + name.replace("/", "%2f"), "kazoo")


def run(thread, verb, kind, name, wait):
    if verb in ("lock", "try"):
        lock = lock_of(kind, name)
        try:
            got = lock.acquire(blocking=verb == "lock" or wait > 0, timeout=wait / 1000 if wait else None)
        except LockTimeout:
            got = False
        if got:
            held[thread, name] = lock
        return "true" if got else "false"
    if verb == "unlock":
        held.pop((thread, name)).release()
        return ""
    raise ValueError("no verb " + verb)


def turns(name, threads, until):
    """Threads lock and unlock as fast as they can, until the clock shows `until` ms."""
    counts = [0] * threads

    def one(i):
        mine = lock_of("mutex", name)
        while time.time() * 1000 < until:
            mine.acquire()
            count_in(name)
            mine.release()
            counts[i] += 1

    crowd = [threading.Thread(target=one, args=(i,)) for i in range(threads)]
    for t in crowd:
        t.start()
    for t in crowd:
        t.join()
    return str(sum(counts))


def count_in(path):
    with open(path, "r+b", buffering=0) as file:
        seen = int(file.read(32))
        file.seek(0)
        file.write(b"%d" % (seen + 1))


def work(thread, requests):
    while True:
        request, verb, kind, name, *numbers = requests.get()
        numbers = [int(n) for n in numbers]
        try:
            if verb == "turns":
                say(request, "ok " + turns(name, *numbers))
                continue
            wait = numbers[0] if numbers else 0
            say(request, ("ok " + run(thread, verb, kind, name, wait)).rstrip())
        except Exception as e:
            say(request, f"failed {type(e).__name__}: {e}")


threads = {}
server.start(timeout=60)
say("0", "ok kazoo " + kazoo.version.__version__)
for line in sys.stdin:
    request, thread, *words = line.split()
    if thread not in threads:
        threads[thread] = queue.Queue()
        threading.Thread(target=work, args=(thread, threads[thread]), daemon=True).start()
    threads[thread].put([request, *words])
os._exit(0)  # the test has ended: held locks end with the session, as after a crash
