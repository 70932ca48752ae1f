"""The ledger of claims: `ledger` holds its form, each other module the rules of one chapter's claims."""

from importlib import import_module

from vnlib.claims.ledger import (
    CLAIMS,
    NOT,
    NOT_TESTABLE,
    PARTLY,
    REPRODUCED,
    Claim,
    Decision,
    Part,
    claim,
    judge,
    ledger,
    verdict,
    write_ledger,
)

__all__ = [
    "CLAIMS",
    "NOT",
    "NOT_TESTABLE",
    "PARTLY",
    "REPRODUCED",
    "Claim",
    "Decision",
    "Part",
    "claim",
    "judge",
    "ledger",
    "verdict",
    "write_ledger",
]

# The order of the ledger.
for _chapter in (
    "fig1_architecture",
    "fig2_spatial",
    "A_predictive_coding",
    "B_attention",
    "C_inference",
    "D_learning",
    "E_theory",
    "F_spatial",
    "fig3_functions",
    "G_functions",
    "fig4_nbody",
    "H_nbody",
    "fig5_mnist",
    "I_mnist",
    "J_cost",
    "beyond_continual",
    "FR1_failure",
    "FR2_manifold",
    "FR3_low_rank",
    "FR4_stripes",
    "FR5_rotation",
):
    import_module(f"vnlib.claims.{_chapter}")
