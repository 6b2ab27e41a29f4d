"""The three-way engine: merge of desired, applied and observed; plans of steps; writing changes. It knows no family."""
