"""The models, sets and masks of VN Fig. 3 and App. G, by the names that results have for them."""

from __future__ import annotations

VN = ("vn_1", "vn_3", "vn_5")
AUTOENCODERS = ("deep_ae", "sparse_ae")
DYNAMICS = ("neural_ode", "rslds")
MAMBA = ("mamba_bottleneck", "mamba")
OTHERS = (*DYNAMICS, *AUTOENCODERS, "rnn", "transformer", *MAMBA)
ELEVEN = (*VN, *OTHERS)  # the models of the paper's Tables 5 and 6
MASKED = ("deep_ae_masked", "rnn_masked", "transformer_masked")
UNLEARNED = ("vn_untrained", "fourier")
THUMB = ("hold_last", "linear")
SETS = {"id": "ID", "easy": "Easy", "hard": "Hard"}
MASKS = {
    "forecast_25": "last quarter",
    "forecast_50": "last half",
    "random_30": "random 30 %",
    "block_128": "a block",
}
