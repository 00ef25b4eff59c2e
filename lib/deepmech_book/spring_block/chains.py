"""What pages on chains share."""

from deepmech.metrics.curvature import curvature
from deepmech_book.spring_block.words import said


def means(run):
    """What a phase diagram of chains shows, by the arguments of the picture: means over runs of every cell."""
    mean = run.mean("run")
    return {
        "load": said(mean["load_curve"], "load"),
        "shade": said(mean["elastic_energy"], "elastic energy", "force × length"),
        "curvature": curvature(run["load_curve"], dim="block").mean("run"),
        "y": "friction_right",
    }
