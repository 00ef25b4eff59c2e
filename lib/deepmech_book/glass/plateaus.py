"""Where decaying and rising curves pause: falls in two steps, and cages."""

import numpy as np

from deepmech.metrics.relaxation import local_powers


def second_step(overlap):
    """How clearly any overlap over ``time`` falls twice: 0 for one fall, near 1 for two with a plateau between.

    -dQ/d(log t) has a peak for each fall. Given is the depth of the valley between two peaks, over the highest; of all
    curves the deepest. A curve that ends above 0.9 has hardly begun to fall, and is left out.
    """
    overlap = overlap.transpose(..., "time")
    with np.errstate(over="ignore"):  # an overlap is at most 1
        falls = -local_powers(overlap.copy(data=np.exp(overlap.values))).values
    times = overlap.time.values.astype(float)
    if not (np.log(times[2:] / times[:-2]) <= np.log(4)).any():
        raise ValueError(
            "second_step: overlap: no three records lie within a factor of four in time, over which the slope is "
            "taken: record at times closer to one another"
        )
    deepest = 0.0
    for fall in falls[overlap.values[..., -1] <= 0.9].reshape(-1, overlap.sizes["time"]):
        curve = fall[np.isfinite(fall)]
        if not len(curve) or not curve.max() > 0:
            continue  # it ended at once, or never falls
        left = np.maximum.accumulate(curve)
        right = np.maximum.accumulate(curve[::-1])[::-1]
        deepest = max(deepest, float((np.minimum(left, right) - curve).max() / curve.max()))
    return deepest


LOW, LASTING = 0.3, 3.0
"""A plateau is a stretch of local powers below the one, over which time grows by a factor of the other or more."""


def rise_after_plateau(msd):
    """How clearly any mean square displacement over ``time`` shows a cage: the rise of its local power after a plateau.

    A stretch shorter than :data:`LASTING` is a swing of weights across a steep valley. 0 if there is no plateau, or no
    rise after it. Curves at T = 0 are left out: networks at zero loss do not move at all.
    """
    msd = msd.transpose(..., "time")
    moving = msd.sel(temperature=msd.temperature > 0) if "temperature" in msd.dims else msd
    times, most = msd.time.values.astype(float), 0.0
    for curve in local_powers(moving).values.reshape(-1, msd.sizes["time"]):
        below = np.append(np.nan_to_num(curve, nan=np.inf) < LOW, False)
        for start in np.flatnonzero(below & ~np.insert(below[:-1], 0, False)):
            end = start + int(np.argmin(below[start:]))
            later = curve[end:][np.isfinite(curve[end:])]
            if times[end - 1] >= LASTING * times[start] and len(later):
                most = max(most, float(later.max() - np.nanmin(curve[start:end])))
    return most
