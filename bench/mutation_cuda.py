"""Mutation rules for CUDA C++: patterns over a file's code or its launch descriptors, each match an edit of one place (bench/mutation_rules.py)."""

import re

from mutation_edit import Edit

RULES = {}
BOUND = r"(?:n|m|t|N|M|D|end|kEach)"


def pattern(name, expression, replacement, launch=False):
    """Another way to plant a defect in CUDA C++: a name may be given several times. `launch`: in the descriptors, else outside of comments."""
    compiled = re.compile(expression)

    def edits(text, before=RULES.get(name)):
        if before:
            yield from before(text)
        place = 0
        for line in text.splitlines(keepends=True):
            comment = line.find("//")
            is_launch = line.startswith(("// launch:", "// scratch:"))
            body = line if launch else line if comment < 0 else line[:comment]
            if is_launch == launch:
                for found in compiled.finditer(body):
                    start, end = place + len(line[:found.start()].encode()), place + len(line[:found.end()].encode())
                    yield Edit(start, end, found.expand(replacement))
            place += len(line.encode())

    RULES[name] = edits


pattern("mask one short", rf"(\b\w+(?: \+ k)?) < ({BOUND})\b(?! \?)", r"\1 < \2 - 1")
pattern("mask one long", rf"(\b\w+(?: \+ k)?) < ({BOUND})\b", r"\1 <= \2")
pattern("store without mask", r"if \([^()]*<[^()]*\)", "if (true)")
pattern("store without mask", r"if \([^()]*>=[^()]*\) (?:return|continue);", "")
pattern("load without mask", r"i < N \? ([^:]*) : 0\.0f", r"\1")
pattern("mask without its first part", r"[\w .+]+ < \w+ && ", "")
pattern("mask without its second part", r" && [\w .+]+ < \w+", "")
pattern("and becomes or", "&&", "||")
pattern("comparison's edge", r"(value|other) > highest", r"\1 >= highest")
pattern("comparison's edge", r"other_at < at", "other_at <= at")
pattern("comparison reversed", r"(value|other) > highest", r"\1 < highest")
pattern("comparison reversed", r"(\w+) == (n|highest|0)\b", r"\1 != \2")
pattern("wrong reduction", r"\bfmaxf\(", "fminf(")
pattern("wrong reduction", r"value \+= __shfl", "value = __shfl")
pattern("wrong padding value", r": 0\.0f", ": 1.0f")
pattern("wrong padding value", r": -INFINITY", ": 0.0f")
pattern("barrier missing", r"__syncthreads\(\);", "")
pattern("shuffles begin too near", r"offset = 16", "offset = 8")
pattern("shuffles end too early", r"offset > 0", "offset > 1")
pattern("shuffle of another kind", r"__shfl_xor_sync", "__shfl_up_sync")
pattern("shared slot for all", r"parts\[threadIdx\.x / 32\]", "parts[0]")
pattern("warps miscounted", r"blockDim\.x / 32", "(blockDim.x / 32 - 1)")
pattern("wrong initial value", r"= -INFINITY", "= 0.0f")
pattern("wrong initial value", r"= 0\.0f", "= 1.0f")
pattern("sum overwritten", r"(sum|squares) \+=", r"\1 =")
pattern("sum subtracts", r"(sum|squares|value) \+=", r"\1 -=")
pattern("term added twice", r"(sum|squares) \+= ([^;]*);", r"\1 += 2.0f * (\2);")
pattern("every second turn", r"i \+= (blockDim\.x|32|256)\b", r"i += 2 * \1")
pattern("every second turn", r"k \+= 8", "k += 16")
pattern("truncated loop", r"k < (\d+|kEach)", r"k < \1 - 1")
pattern("first turn skipped", r"int k = 0", "int k = 1")
pattern("first turn skipped", r"i = threadIdx\.x;", "i = threadIdx.x + blockDim.x;")
pattern("lane off by one", r"(i = |\+ )threadIdx\.x\b", r"\1(threadIdx.x + 1)")
pattern("stale index in odd lanes", r"(i = |\+ )threadIdx\.x\b", r"\1(threadIdx.x & ~1u)")
pattern("wrong axis of the grid", r"blockIdx\.x", "blockIdx.y")
pattern("wrong axis of the grid", r"blockIdx\.y", "blockIdx.x")
pattern("same block for all", r"blockIdx\.x", "0")
pattern("block off by one", r"blockIdx\.x", "(blockIdx.x + 1)")
pattern("swapped stride", r"\* n\b", "* m")
pattern("swapped stride", r"\* m\b", "* n")
pattern("stride one short", r"\* (n|N|m|D|\(long long\)D)\b", r"* (\1 - 1)")
pattern("wrong broadcast", r"\[threadIdx\.(x|y)( \+ k)?\]\[threadIdx\.(x|y)( \+ k)?\]", r"[threadIdx.\3\4][threadIdx.\1\2]")
pattern("store off by one", r"(\by\[[^\]]*)\] = ", r"\1 + 1] = ")
pattern("eps dropped", r" \+ 1e-\df", "")
pattern("eps outside the root", r"rsqrtf\((.*) \+ (1e-\df)\)", r"(1.0f / (sqrtf(\1) + \2))")
pattern("constant off by a hundredth", r"\b(0\.[1-9]\d*|1\.\d+|1)(e-\d)?f", r"(1.01f * \g<0>)")
pattern("constant off in its fifth digit", r"\b(0\.[1-9]\d*|1e-\d)f", r"(1.00003f * \g<0>)")
pattern("constant's sign", r"\b(0\.[1-9]\d*|1\.0|1e-\d)f", r"(-\g<0>)")
pattern("maximum is not subtracted", r"expf\((.*?) - highest\)", r"expf(\1)")
pattern("lost sign", r"expf\(-", "expf(")
pattern("lost sign", r"(\w+(?:\[\w+\])?) - (mean|highest)", r"\1 + \2")
pattern("difference reversed", r"(\w+(?:\[\w+\])?) - mean", r"mean - \1")
pattern("division dropped", r" / (N|sum)\b", "")
pattern("divided by one less", r" / N\b", " / (N - 1)")
pattern("ignored argument", r" [*+] (?:weight|bias|up|residual)\[[^\]]*\]", "")
pattern("factor dropped", r" \* scale\b", "")
pattern("wrong function", r"\brsqrtf\(", "sqrtf(")
pattern("wrong function", r"\bexpf\(", "exp2f(")
pattern("fast function", r"\bexpf\(", "__expf(")
pattern("result rounded to bfloat16", r"(\by\[[^=]*\] = )([^;]*);", r"\1__uint_as_float(__float_as_uint(\2) & 0xffff0000u);")
pattern("result truncated", r"(\by\[[^=]*\] = )([^;]*);", r"\1(int)(\2);")
pattern("only the first block is written", r"(\by\[[^=]*\] = )", r"if (blockIdx.x == 0) \1")
pattern("last block is not written", r"(\by\[[^=]*\] = )", r"if (blockIdx.x + 1 != gridDim.x) \1")
pattern("grid rounded down", r'"ceil_div\(([^,]*), (\d+)\)"', r'"max(1, (\1) / \2)"', launch=True)
pattern("grid one short", r'"grid": \["([^"]*)"', r'"grid": ["max(1, \1 - 1)"', launch=True)
pattern("grid of one", r'"grid": \["[^"]*"', r'"grid": [1', launch=True)
pattern("grid one long", r'"grid": \["([^"]*)"', r'"grid": ["\1 + 1"', launch=True)
pattern("block too small", r'"block": \[256\]', '"block": [128]', launch=True)
pattern("block too large", r'"block": \[256\]', '"block": [512]', launch=True)
