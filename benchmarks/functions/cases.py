"""Where the results of VN Fig. 3 keep the errors of single test signals: those of the Hard set."""

from __future__ import annotations

HARD = {"set": "hard"}
ZERO = HARD | {"model": "zero_baseline"}
# Averages over signals, by name: of which errors, and where.
MEANS = {
    "mse": ("error_hard", HARD),
    "hidden": ("hidden_hard", HARD),
    "zero_baseline": ("error_hard", ZERO),
    "zero_baseline_hidden": ("hidden_hard", ZERO | {"protocol": "mask_aware"}),
}
