# Defines nothing that could be wrong.
# expect: runtime_error
# class: B02, T26
result = "passed"
