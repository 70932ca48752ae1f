"""Schematics of the book: one visual grammar, each drawing a pure function that returns a `Pen`."""

from book.schematics import machine, tasks

DRAWINGS = {
    "layer": machine.layer,
    "settle": machine.settle,
    "readout": tasks.readout,
    "inputs": tasks.inputs,
    "masked": machine.masked,
    "strict": machine.strict,
    "start": machine.start,
    "stripes": tasks.stripes,
}

# What stands small at the head of a page.
HEADS = {
    "fig1_architecture": "layer",
    "fig2_spatial": "readout",
    "fig3_functions": "masked",
    "fig4_nbody": "inputs",
    "fig5_mnist": "layer",
    "FR1_failure": "readout",
    "FR2_manifold": "readout",
    "FR3_low_rank": "readout",
    "FR4_stripes": "stripes",
    "A_predictive_coding": "settle",
    "B_attention": "layer",
    "C_inference": "settle",
    "D_learning": "strict",
    "E_theory": "settle",
    "F_spatial": "readout",
    "G_functions": "masked",
    "H_nbody": "inputs",
    "I_mnist": "layer",
    "J_cost": "settle",
    "best_digits": "layer",
    "best_bodies": "inputs",
    "beyond_initialiser": "start",
    "beyond_continual": "layer",
    "beyond_tasks": "readout",
    "beyond_law": "readout",
    "readings_positions": "readout",
    "readings_signals": "masked",
    "readings_bodies": "inputs",
    "readings_digits": "strict",
}
