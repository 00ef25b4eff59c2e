"""Settings that every test shares."""

import os

from hypothesis import HealthCheck, settings

# One test worker per core: numerical libraries must not start more threads of their own.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# A shared machine stalls at times: examples are bounded by their number, not by a clock.
settings.register_profile("deepmech", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("deepmech")
