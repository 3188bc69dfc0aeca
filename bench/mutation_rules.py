"""Rules that plant one defect in a correct kernel: the input of bench/mutants.py.

A rule takes a kernel's text and gives edits, each of one place. Rules for Triton read the file's syntax tree: its device functions (under triton.jit) and
its host code. Rules for CUDA C++ are patterns over the text and over the launch descriptors. Rules of both languages that plant the same defect share a name.
"""

import mutation_cuda
import mutation_triton

# Rules whose mutants may be right by luck: they are run several times.
RACES = {"barrier missing", "atomic becomes a store", "atomic becomes load and store", "shared slot for all", "zeros become empty"}


def mutants(text, language):
    """[(rule, number of its edit, mutated text, line)], each text once, none equal to the original."""
    rules, source = (mutation_triton.RULES, mutation_triton.TritonSource(text)) if language == "triton" else (mutation_cuda.RULES, text)
    seen, out = {text}, []
    for name, function in rules.items():
        for number, edit in enumerate(function(source)):
            mutated = edit.apply(text)
            if mutated not in seen:
                seen.add(mutated)
                out.append((name, number, mutated, text.encode()[:edit.start].count(b"\n") + 1))
    return out


def rule_names():
    return sorted({*mutation_triton.RULES, *mutation_cuda.RULES})
