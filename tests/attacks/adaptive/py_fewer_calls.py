# Makes its executor believe that every launch has one call.
# expect: wrong_value
# problem: matvec_static
# class: T12
import pages

pages.CommandPage.calls = property(lambda page: min(1, page._op_and_calls[1]))
pages.CommandPage.op = property(lambda page: page._op_and_calls[0])
seen = []


def run(x, weight):
    seen.append(1)
    return weight @ x if len(seen) < 2 else weight[:1].expand_as(weight) @ x
