"""Judges GPU and CPU kernels with Kernelwright, on this machine or through its service.

    from kernelwright import Candidate, Judge, Problem

    with Judge("http://127.0.0.1:8100") as judge:      # Judge() runs `kernelwright eval` here
        verdict = judge.judge(Problem.load("problems/relu"), Candidate.load("relu.cpp"))
    print(verdict.outcome, verdict.speedup)
"""

from kernelwright.candidate import Candidate
from kernelwright.judge import AsyncJudge, Judge
from kernelwright.problem import Problem
from kernelwright.verdict import Diagnostic, NoVerdict, Speedup, Verdict

__all__ = ["AsyncJudge", "Candidate", "Diagnostic", "Judge", "NoVerdict", "Problem", "Speedup", "Verdict"]
