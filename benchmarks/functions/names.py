"""What the pages on functions call things: sets, masks, protocols, groups of models. Results hold the keys."""

from __future__ import annotations

from vnlib.plots.style import PALETTE

VN = ("vn_1", "vn_3", "vn_5")
OTHERS = (
    "neural_ode", "rslds", "deep_ae", "sparse_ae", "rnn", "transformer", "mamba_bottleneck", "mamba",
)  # fmt: skip
ELEVEN = (*VN, *OTHERS)  # the models of the paper's Tables 5 and 6
SETS = {"id": "ID", "easy": "Easy", "hard": "Hard"}
MASKS = {
    "forecast_25": "last quarter",
    "forecast_50": "last half",
    "random_30": "random 30 %",
    "block_128": "a block",
}
PROTOCOLS = {"zero_filled": "as printed", "mask_aware": "told the mask"}
# Group -> its name in legends, colour and marker.
GROUPS = {
    "vn": ("Vector Network", PALETTE[0], "o"),
    "printed": ("other models of the paper", PALETTE[3], "s"),
    "masked": ("trained with masks", PALETTE[2], "D"),
    "control": ("controls", PALETTE[7], "^"),
}
# Rules of thumb, which figures draw as lines.
RULES = {
    "zero_baseline": ("Zero baseline", ":"),
    "hold_last": ("Last value held", "--"),
    "linear": ("Linear interpolation", "-."),
}
UNIT = "ID power"  # the mean power of training signals
