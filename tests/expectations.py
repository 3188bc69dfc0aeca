"""Checks of a test program that goes on after a failure: each is told, and the exit code says whether there was one."""

MOST_TOLD = 20
PATIENCE = 900  # seconds: ends a program that hangs, and no other one, on a machine however busy
failures = 0


def expect(good, what):
    global failures
    if good:
        return
    failures += 1
    if failures <= MOST_TOLD:
        print(f"WRONG: {what}"[:2500], flush=True)


def exit_code():
    return 1 if failures else 0
