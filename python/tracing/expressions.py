# Torch's size expressions (sympy) as texts of docs/formats/graph.md.
import fractions

import sympy

from tracing.errors import Unsupported

_RELATIONS = {
    sympy.Eq: "==",
    sympy.Ne: "!=",
    sympy.StrictLessThan: "<",
    sympy.LessThan: "<=",
}
_TURNED = {sympy.StrictGreaterThan: "<", sympy.GreaterThan: "<="}
_FLOOR_DIVISIONS = ("FloorDiv", "CleanDiv")
_REMAINDERS = ("Mod", "PythonMod")
_TRUE_DIVISIONS = ("IntTrueDiv", "FloatTrueDiv")
# Of a quotient of sizes, which is not negative: down or towards zero is the same.
_ROUNDED_DOWN = ("TruncToInt", "FloorToInt", "TruncToFloat", "floor")
_ROUNDED_UP = ("CeilToInt", "ceiling")


class Expressions:
    """Texts of expressions over the symbols that have a name."""

    def __init__(self, names):
        """names: sympy symbol -> text."""
        self._names = names

    def text(self, expr):
        """Of a whole number. Unsupported for what docs/formats/graph.md cannot say."""
        if isinstance(expr, (int, sympy.Integer)):
            return str(int(expr))
        if isinstance(expr, sympy.Symbol):
            if expr not in self._names:
                raise Unsupported(f"a size depends on a value ({expr})")
            return self._names[expr]
        kind = type(expr).__name__
        if isinstance(expr, sympy.Add):
            return self._fraction(expr)
        if isinstance(expr, (sympy.Mul, sympy.Pow)) or kind == "PowByNatural":
            return self._fraction(expr)
        if kind in _FLOOR_DIVISIONS:
            return self._divided(*map(self.text, expr.args))
        if kind == "CeilDiv":
            return self._divided_up(*map(self.text, expr.args))
        if kind in _REMAINDERS:
            a, b = map(self.text, expr.args)
            return f"(({a}) % ({b}))"
        if kind == "ModularIndexing":
            a, b, c = map(self.text, expr.args)
            return f"((({a}) // ({b})) % ({c}))"
        if kind in ("Min", "Max"):
            return f"{kind.lower()}({', '.join(map(self.text, expr.args))})"
        if kind == "Abs":
            inner = self.text(expr.args[0])
            return f"max({inner}, -({inner}))"
        if kind == "Identity":
            return self.text(expr.args[0])
        if kind in _ROUNDED_DOWN:
            return self._divided(*self._quotient(expr.args[0]))
        if kind in _ROUNDED_UP:
            return self._divided_up(*self._quotient(expr.args[0]))
        raise Unsupported(f"a size is computed as {expr}")

    def conditions(self, expr):
        """[[left, relation, right]] that together say expr, a sympy truth."""
        if expr in (True, sympy.true):
            return []
        if isinstance(expr, sympy.And):
            return [item for part in expr.args for item in self.conditions(part)]
        if type(expr) in _RELATIONS:
            return [[self.text(expr.lhs), _RELATIONS[type(expr)], self.text(expr.rhs)]]
        if type(expr) in _TURNED:
            return [[self.text(expr.rhs), _TURNED[type(expr)], self.text(expr.lhs)]]
        raise Unsupported(f"the code depends on {expr}")

    @staticmethod
    def _divided(a, b):
        return a if b == "1" else f"(({a}) // ({b}))"

    @staticmethod
    def _divided_up(a, b):
        return a if b == "1" else f"(({a} + {b} - 1) // ({b}))"

    def _fraction(self, expr):
        """A sum, product or power; a fraction of whole numbers is one that has no remainder."""
        if isinstance(expr, sympy.Add):
            common = sympy.ilcm(1, *(term.as_coeff_Mul()[0].q for term in expr.args if _rational(term)))
            terms = [self.text(term * common if common != 1 else term) for term in expr.args]
            return self._divided("(" + " + ".join(terms) + ")", str(common))
        above, below = self._factors(expr)
        return self._divided(" * ".join(above) or "1", " * ".join(below) or "1")

    def _factors(self, expr):
        if isinstance(expr, sympy.Rational):
            return [f"({expr.p})"], ([str(expr.q)] if expr.q != 1 else [])
        if isinstance(expr, sympy.Mul):
            parts = [self._factors(part) for part in expr.args]
            return [t for a, _ in parts for t in a], [t for _, b in parts for t in b]
        if isinstance(expr, sympy.Pow) or type(expr).__name__ == "PowByNatural":
            base, power = expr.args
            if not isinstance(power, sympy.Integer):
                raise Unsupported(f"a size is computed as {expr}")
            factors = [f"({self.text(base)})"] * abs(int(power))
            return (factors, []) if power > 0 else ([], factors)
        return [f"({self.text(expr)})"], []

    def _quotient(self, expr):
        """(numerator, denominator) of an exact quotient that is then rounded."""
        kind = type(expr).__name__
        if kind in _TRUE_DIVISIONS:
            (a, b), (c, d) = map(self._quotient, expr.args)
            return (a if d == "1" else f"({a}) * ({d})"), (c if b == "1" else f"({b}) * ({c})")
        if kind == "ToFloat":
            return self._quotient(expr.args[0])
        if isinstance(expr, sympy.Float):
            exact = fractions.Fraction(float(expr))
            if exact.denominator > 2**20 or abs(exact.numerator) > 2**20:
                raise Unsupported(f"a size is scaled by {float(expr)}")
            return str(exact.numerator), str(exact.denominator)
        if isinstance(expr, sympy.Mul):
            parts = [self._quotient(part) for part in expr.args]
            below = [b for _, b in parts if b != "1"]
            return " * ".join(f"({a})" for a, _ in parts), " * ".join(f"({b})" for b in below) or "1"
        if isinstance(expr, sympy.Rational):
            return str(expr.p), str(expr.q)
        if isinstance(expr, sympy.Pow) and expr.args[1] == -1:
            a, b = self._quotient(expr.args[0])
            return b, a
        return self.text(expr), "1"


def _rational(term):
    return isinstance(term.as_coeff_Mul()[0], sympy.Rational)


# Float expressions of sizes and scalars, as operators on 0-d float64 tensors.
FLOAT_OPERATORS = {
    "FloatPow": "pow.Tensor_Tensor",
    "Pow": "pow.Tensor_Tensor",
    "FloatTrueDiv": "div.Tensor",
    "IntTrueDiv": "div.Tensor",
    "OpaqueUnaryFn_sqrt": "sqrt.default",
    "OpaqueUnaryFn_exp": "exp.default",
    "OpaqueUnaryFn_log": "log.default",
    "OpaqueUnaryFn_log2": "log2.default",
    "OpaqueUnaryFn_sin": "sin.default",
    "OpaqueUnaryFn_cos": "cos.default",
    "OpaqueUnaryFn_tanh": "tanh.default",
    "Abs": "abs.default",
    "Max": "maximum.default",
    "Min": "minimum.default",
}
