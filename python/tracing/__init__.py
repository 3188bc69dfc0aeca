# Graphs of a problem's reference: docs/tracing.md.
