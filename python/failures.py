# Failures of a candidate, and how their text gets into the log.
import sys
import traceback

import loading

MAX_TEXT = 16 * 1024


class Failed(Exception):
    """A candidate's failure with its number in the reply page. The text is for people."""

    def __init__(self, failure, text):
        super().__init__(text)
        self.failure = failure


def shorten(text, limit=MAX_TEXT):
    """The head and the tail of a text that is too long: a traceback ends with what matters."""
    if len(text) <= limit:
        return text
    head = limit // 4
    tail = limit - head
    return f"{text[:head]}\n[... {len(text) - limit} characters left out ...]\n{text[-tail:]}"


def drop_own_frames(shown):
    """Of an exception and of those that it came from."""
    own = __file__.rpartition("/")[0] + "/"
    while shown is not None:
        shown.stack[:] = [frame for frame in shown.stack if not frame.filename.startswith(own)]
        shown = shown.__cause__ or shown.__context__


def headline(shown):
    """What was raised, and the last line of the loaded sources that led there; "" of a syntax error."""
    if shown.exc_type is not None and issubclass(shown.exc_type, SyntaxError):
        return ""
    raised = list(shown.format_exception_only())[0].strip().splitlines()
    lines = raised[:1]
    for frame in reversed(shown.stack):
        if loading.is_loaded(frame.filename):
            name = loading.name_of(frame.filename)
            lines.append(f"  at {name}:{frame.lineno} in {frame.name}: {frame.line or ''}".rstrip(": "))
            break
    return "".join(f"{line}\n" for line in lines)


def describe(error, limit=MAX_TEXT, with_headline=False):
    """The traceback of an exception, without the frames of this folder, wherever they stand.

    with_headline: first what was raised and the line of the sources that led there.
    """
    try:
        shown = traceback.TracebackException(type(error), error, error.__traceback__)
        drop_own_frames(shown)
        if isinstance(error, SyntaxError):
            shown.stack.clear()  # the parser's frames
        lines = [headline(shown) if with_headline else "", *shown.format()]
    except Exception as broken:  # an exception class of the candidate may have a failing __str__
        lines = [f"{type(error).__name__} (its text cannot be shown: {type(broken).__name__})\n"]
    return shorten("".join(lines), limit)


def flush():
    """What the candidate printed goes out; a broken pipe or a replaced stream stops nobody."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def log(text):
    """Writes to the log pipe."""
    flush()
    try:
        sys.stderr.write(text if text.endswith("\n") else text + "\n")
    except Exception:
        pass
    flush()
