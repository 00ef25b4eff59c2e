"""The functions that compute what ships, by their names in keys; of what a file names, only these are called.

A stored result answers to the name, not to the place. When a function moves, its line here changes and no result does;
a name is never given to another function, and never changed, for keys hold it.
"""

from __future__ import annotations

CELLS = {
    "elastic_sde.extension_models": "deepmech_book.sweeps.elastic_sde.extension_models:fit_cells",
    "elastic_sde.finite_steps": "deepmech_book.sweeps.elastic_sde.tangent_kernel:step_cells",
    "elastic_sde.networks": "deepmech_book.sweeps.elastic_sde.networks:train_cells",
    "elastic_sde.tangent_kernel": "deepmech_book.sweeps.elastic_sde.tangent_kernel:measure_cells",
    "extras.coverage": "deepmech_book.sweeps.extras.coverage:try_intervals",
    "extras.coverage_drawn": "deepmech_book.sweeps.extras.coverage:try_methods",
    "glass.forecasts": "deepmech_book.sweeps.glass.forecasts:forecast_cells",
    "glass.kinks": "deepmech_book.sweeps.glass.kinks:kink_cells",
    "glass.landscape": "deepmech_book.sweeps.glass.landscape:survey",
    "glass.lennard_jones": "deepmech_book.sweeps.glass.lennard_jones:relax_cells",
    "glass.linear_networks": "deepmech_book.sweeps.glass.minima:linear_cells",
    "glass.preparation": "deepmech_book.sweeps.glass.preparation:rest_cells",
    "glass.rates": "deepmech_book.sweeps.glass.rates:rate_cells",
    "glass.size": "deepmech_book.sweeps.glass.papers_size:size_cells",
    "glass.transitions": "deepmech_book.sweeps.glass.minima:prepare_cells",
    "glass.waited": "deepmech_book.sweeps.glass.walks:wait_cells",
    "glass.walks": "deepmech_book.sweeps.glass.walks:walk_cells",
    "spring_block.architectures": "deepmech_book.sweeps.spring_block.architectures:train_kind",
    "spring_block.both_sets": "deepmech_book.sweeps.spring_block.in_time:train_on_both_sets",
    "spring_block.convolutional": "deepmech_book.sweeps.spring_block.convolutional:train_through_stages",
    "spring_block.fewer_epochs": "deepmech_book.sweeps.spring_block.in_time:train_in_time",
    "spring_block.linear_networks": "deepmech_book.sweeps.spring_block.linear_networks:train_cells",
    "spring_block.networks": "deepmech_book.sweeps.spring_block.networks:train_cells",
    "spring_block.networks_in_time": "deepmech_book.sweeps.spring_block.in_time:train_regimes",
    "spring_block.noise_by_layer": "deepmech_book.sweeps.spring_block.noise_by_layer:train_and_draw",
    "spring_block.regression": "deepmech_book.sweeps.spring_block.regression:train_regressions",
    "spring_block.resolutions": "deepmech_book.sweeps.spring_block.architectures:train_resolutions",
    "spring_block.two_metrics": "deepmech_book.sweeps.spring_block.networks:train_in_two_metrics",
    "spring_block.without_norm": "deepmech_book.sweeps.spring_block.without_norm:train_cells",
}
"""``"module:function"`` of each name."""
