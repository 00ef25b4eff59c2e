"""Room: trainers."""
