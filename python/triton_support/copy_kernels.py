# Kernels of ours for what host code does with torch's copies and fills where no plain copy or fill of memory does it: other layouts,
# gaps, conversions of dtype. They are launched as a candidate's are, so a recording has them as launches.
import triton
import triton.language as tl

MAX_DIMENSIONS = 5
_BLOCK = 1024


@triton.jit
def _offsets(at, n1, n2, n3, n4, s0, s1, s2, s3, s4, DIMENSIONS: tl.constexpr):
    """Offsets of the elements with these numbers; the last of DIMENSIONS dimensions is the fastest."""
    rest = at
    out = at * 0
    if DIMENSIONS > 4:
        out += rest % n4 * s4
        rest = rest // n4
    if DIMENSIONS > 3:
        out += rest % n3 * s3
        rest = rest // n3
    if DIMENSIONS > 2:
        out += rest % n2 * s2
        rest = rest // n2
    if DIMENSIONS > 1:
        out += rest % n1 * s1
        rest = rest // n1
    return out + rest * s0


@triton.jit
def kw_copy(to, source, total, n1, n2, n3, n4, t0, t1, t2, t3, t4, s0, s1, s2, s3, s4, DIMENSIONS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + _offsets(at, n1, n2, n3, n4, s0, s1, s2, s3, s4, DIMENSIONS), mask=at < total)
    place = to + _offsets(at, n1, n2, n3, n4, t0, t1, t2, t3, t4, DIMENSIONS)
    tl.store(place, value.to(to.dtype.element_ty), mask=at < total)


@triton.jit
def kw_fill(to, value, total, n1, n2, n3, n4, t0, t1, t2, t3, t4, DIMENSIONS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    place = to + _offsets(at, n1, n2, n3, n4, t0, t1, t2, t3, t4, DIMENSIONS)
    tl.store(place, tl.full((BLOCK,), value, to.dtype.element_ty), mask=at < total)


def collapsed(shape, *strides):
    """(sizes, strides of each tensor) with as few dimensions as these tensors allow; the first tensor's fastest comes last."""
    kept = [(size, *steps) for size, *steps in zip(shape, *strides) if size != 1]
    kept.sort(key=lambda one: -one[1])
    out = []
    for size, *steps in kept:
        if out and all(before == size * step for before, step in zip(out[-1][1:], steps)):
            out[-1] = (out[-1][0] * size, *steps)
        else:
            out.append((size, *steps))
    out = out or [(1, *(0 for _ in strides))]
    sizes, *steps = zip(*out)
    return list(sizes), [list(one) for one in steps]


def _padded(values, filler):
    return values + [filler] * (MAX_DIMENSIONS - len(values))


def copy(to, source):
    """source: of to's shape, or expanded to it. False: too many dimensions."""
    sizes, (ours, theirs) = collapsed(to.shape, to.stride(), source.stride())
    if len(sizes) > MAX_DIMENSIONS:
        return False
    total = to.numel()
    kw_copy[(triton.cdiv(total, _BLOCK),)](to, source, total, *_padded(sizes, 1)[1:], *_padded(ours, 0), *_padded(theirs, 0),
                                           DIMENSIONS=len(sizes), BLOCK=_BLOCK)  # fmt: skip
    return True


def fill(to, value):
    """False: too many dimensions."""
    sizes, (ours,) = collapsed(to.shape, to.stride())
    if len(sizes) > MAX_DIMENSIONS:
        return False
    total = to.numel()
    kw_fill[(triton.cdiv(total, _BLOCK),)](to, value, total, *_padded(sizes, 1)[1:], *_padded(ours, 0),
                                           DIMENSIONS=len(sizes), BLOCK=_BLOCK)  # fmt: skip
    return True
