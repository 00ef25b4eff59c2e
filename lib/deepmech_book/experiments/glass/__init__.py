"""The glass paper's figures: networks under Langevin dynamics, and what independent weights would do in their place."""
