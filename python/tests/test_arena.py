# The preload library by itself: allocation, page faults, forks, misuse. Each test is a process.
import os
import subprocess
import sys
import unittest

from support import environment

HEAD = """
import ctypes, mmap, os, resource, signal, threading
libc = ctypes.CDLL(None)
for name in ("malloc", "calloc", "realloc", "aligned_alloc", "memalign"):
    getattr(libc, name).restype = ctypes.c_void_p
for name in ("kw_arena_enable", "malloc_usable_size"):
    getattr(libc, name).restype = ctypes.c_size_t
P, S = ctypes.c_void_p, ctypes.c_size_t
MIB = 1 << 20
memory = mmap.mmap(-1, 16 * MIB)
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
def enable(*sizes, bytes=16 * MIB):
    return libc.kw_arena_enable(P(base), S(bytes), (S * len(sizes))(*sizes), S(len(sizes)))
def inside(p):
    return base <= p < base + 16 * MIB
def posix(size, alignment=64):
    p = P()
    assert libc.posix_memalign(ctypes.byref(p), S(alignment), S(size)) == 0
    assert p.value % alignment == 0
    return p.value
def free(p):
    libc.free(P(p))
def fill(p, size, byte):
    ctypes.memset(p, byte, size)
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def call(name, *args):
    return getattr(libc, name)(*[S(a) for a in args])
"""


def run(body, head=HEAD):
    command = [sys.executable, "-c", head + body]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=900)


class ArenaTest(unittest.TestCase):
    def check(self, body, head=HEAD):
        done = run(body, head)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_nothing_changes_before_it_is_enabled(self):
        self.check(
            """
for p in (posix(MIB), call("malloc", MIB), call("calloc", 1, MIB), call("aligned_alloc", 64, MIB)):
    assert not inside(p) and libc.malloc_usable_size(P(p)) >= MIB
    free(p)
free(None)
p = call("realloc", 0, 100); fill(p, 100, 7); p = call("realloc", p, 5 * MIB)
assert ctypes.string_at(p, 100) == b"\\7" * 100
free(p)
assert libc.posix_memalign(ctypes.byref(P()), S(48), S(8)) == 22
assert enable() == 0 and enable(20 * MIB) == 0 and enable(0) == 0
assert enable(4, bytes=64) == 0 and enable(4, bytes=128) == 1
"""
        )

    def test_results_come_from_the_arena(self):
        self.check(
            """
assert enable(MIB, 4, 4, 0) > 8
blocks = [posix(MIB) for _ in range(8)] + [posix(4) for _ in range(8)]
assert all(inside(p) and p % 64 == 0 for p in blocks) and len(set(blocks)) == 16
for i, p in enumerate(blocks): fill(p, MIB if i < 8 else 4, i)
assert all(ctypes.string_at(p, 4) == bytes([i]) * 4 for i, p in enumerate(blocks))
assert not inside(posix(MIB - 1)) and inside(posix(MIB + 64)) and not inside(posix(MIB + 4097))
assert inside(posix(8)) and not inside(posix(400))
assert not inside(call("malloc", 4)) and inside(call("malloc", MIB)) and not inside(posix(MIB, 8192))
for p in blocks: free(p)
assert inside(call("calloc", 4, MIB // 4))
"""
        )

    def test_memory_is_reused_and_moves_when_rotated(self):
        self.check(
            """
assert enable(MIB) >= 15
p = posix(MIB); free(p)
q = posix(MIB); free(q)
assert p == q
seen = set()
for _ in range(30):
    p = posix(MIB); seen.add(p); free(p)
    libc.kw_arena_rotate()
assert len(seen) == 15, len(seen)
"""
        )

    def test_a_full_arena_falls_back(self):
        self.check(
            """
count = enable(MIB)
blocks = [posix(MIB) for _ in range(count + 3)]
assert sum(map(inside, blocks)) == count and len(set(blocks)) == count + 3
for p in blocks: fill(p, MIB, 1)
for p in blocks: free(p)
assert inside(posix(MIB))
"""
        )

    def test_realloc_and_calloc_of_special_blocks(self):
        self.check(
            """
enable(MIB); libc.kw_pool_enable(S(64 * MIB))
for size in (MIB, 3 * MIB):
    p = call("malloc", size); fill(p, size, 5); free(p)
    p = call("calloc", 1, size)
    assert ctypes.string_at(p, size) == bytes(size)
    fill(p, size, 5)
    q = call("realloc", p, size + 16)
    assert q == p or ctypes.string_at(q, size) == b"\\5" * size
    q = call("realloc", q, 10)
    assert ctypes.string_at(q, 10) == b"\\5" * 10 and libc.malloc_usable_size(P(q)) < MIB
    q = call("realloc", q, 9 * MIB)
    assert ctypes.string_at(q, 10) == b"\\5" * 10 and libc.malloc_usable_size(P(q)) >= 9 * MIB
    assert call("realloc", q, 0) is None
assert call("calloc", 1 << 63, 4) is None
"""
        )

    def test_the_pool_keeps_memory_up_to_its_limit(self):
        self.check(
            """
assert libc.kw_pool_enable(S(32 * MIB)) == 1
def round_of(size):
    p = call("malloc", size); fill(p, size, 3); free(p)
round_of(30 * MIB); before = faults()
for _ in range(10): round_of(30 * MIB)
assert faults() - before < 20, faults() - before
def resident(): return int(open("/proc/self/statm").read().split()[1]) * 4096
kept = resident()
round_of(100 * MIB)
assert resident() < kept + 10 * MIB
p = call("calloc", 1, 100 * MIB)
assert not any(ctypes.string_at(p, 100 * MIB)[:: 4096])
"""
        )

    def test_many_sizes_and_owners(self):
        self.check(
            """
import random
libc.kw_pool_enable(S(256 * MIB)); enable(MIB)
random.seed(1)
live = {}
for step in range(3000):
    if len(live) > 20 or (live and random.random() < 0.5):
        p = random.choice(list(live)); size, mark = live.pop(p)
        assert ctypes.string_at(p, 8) == mark and ctypes.string_at(p + size - 8, 8) == mark
        free(p)
    else:
        size = int(2 ** random.uniform(4, 26)); mark = random.randbytes(8)
        p = random.choice([lambda: posix(size), lambda: call("malloc", size)])()
        ctypes.memmove(p, mark, 8); ctypes.memmove(p + size - 8, mark, 8)
        assert libc.malloc_usable_size(P(p)) >= size
        live[p] = (size, mark) if size >= 16 else (size, ctypes.string_at(p, 8))
spans = sorted((p, p + s) for p, (s, _) in live.items())
assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))
"""
        )

    def test_a_forked_child_leaves_the_arena_alone(self):
        self.check(
            """
libc.kw_pool_enable(S(64 * MIB)); enable(MIB)
mine = posix(MIB); fill(mine, MIB, 1)
stop = False
def churn():
    while not stop: free(call("malloc", 3 * MIB))
thread = threading.Thread(target=churn); thread.start()
for _ in range(50):
    pid = os.fork()
    if pid == 0:
        p = posix(MIB)
        ok = not inside(p); fill(p, MIB, 2); free(p); free(mine); free(call("malloc", 3 * MIB))
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop = True; thread.join()
assert ctypes.string_at(mine, MIB) == b"\\1" * MIB and inside(posix(MIB))
"""
        )

    def test_misuse_aborts(self):
        for body in (
            "p = posix(MIB); free(p); free(p)",
            "free(posix(MIB) + 64)",
            "p = call('malloc', 3 * MIB); free(p); free(p)",
            "free(call('malloc', 3 * MIB) + 4096)",
        ):
            done = run("enable(MIB); libc.kw_pool_enable(S(64 * MIB))\n" + body)
            self.assertEqual(done.returncode, -6, body)

    def test_torch_pays_no_page_faults(self):
        torch_head = "import torch; torch.set_num_threads(1); torch.set_grad_enabled(False)\n"
        body = """
n = 10 * MIB  # 40 MiB: glibc keeps freed blocks of up to 32 MiB as it likes, and maps larger ones anew each time
memory = mmap.mmap(-1, 250 * MIB); base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fill(base, 250 * MIB, 0)
if ENABLED:
    assert libc.kw_pool_enable(S(512 * MIB)) == 1
    assert libc.kw_arena_enable(P(base), S(250 * MIB), (S * 1)(4 * n), S(1)) == 6
x = torch.randn(n)
def faults_of(f):
    for _ in range(4): f(x)
    before = faults()
    for _ in range(8): f(x)
    return (faults() - before) / 8
for f in (torch.relu, lambda x: (x * 2).relu(), lambda x: torch.cat([x, x]).exp().sum()):
    print(faults_of(f))
y = x.relu()
if ENABLED: assert base <= y.data_ptr() < base + 250 * MIB
"""
        with_it = self.check("ENABLED = True\n" + body, torch_head + HEAD)
        without = self.check("ENABLED = False\n" + body, torch_head + HEAD)
        for few, many in zip(with_it.split(), without.split()):
            # Huge pages make few faults of many; the system may take back a page now and then.
            self.assertGreater(float(many), 5)
            self.assertLess(float(few), max(5, float(many) / 20))


if __name__ == "__main__":
    unittest.main()
