# A cache in a generator's frame.
# expect: wrong_value
# class: C05
def answers():
    x = yield
    result = x * x + x
    while True:
        x = yield result


results = answers()
next(results)


def run(x):
    return results.send(x)
