"""Single steps, their limit and its closed forms (paper B, Eqs. 1 to 9); what a linear drift leaves out (App. B)."""

import numpy as np
import xarray as xr
from scipy.integrate import solve_ivp
from scipy.special import softmax

from deepmech.core.estimates import jackknife, stack
from deepmech.core.random import Stream
from deepmech.metrics.elasticity import margins
from deepmech.simulators.elastic_sde import ElasticSDE, PowerLaw, mean_solution, train_discrete
from deepmech_book.claims.functions import Measurement, measures
from deepmech_book.elastic_sde import readings
from deepmech_book.elastic_sde.words import said
from deepmech_book.sweeps.elastic_sde.extension_models import begins

GROUPS = 10
"""Groups of runs between which the variance of a class mean is measured, for an interval."""


def start(n_classes, n_features):
    """Standard normal class means, (K, p)."""
    return Stream.of("elastic theory", 0).normal("start", n_classes, (n_classes, n_features))


def integrated(model, times, x0):
    """The LE-ODE straight from the words of Eqs. 1 and 4, by Runge–Kutta steps: (time, class, feature).

    Class c is drawn with probability p_c and labelled l with P_cl; class k moves by E_kl H_kl X̄^c. Nothing of the
    closed forms or of the matrices behind them is used.
    """
    blocks, times = model.blocks(), np.asarray(times, float)
    (alpha, _), (beta, _) = model.rates()
    mixing, p = model.mixing(model.grid())[0], model.weights()
    k = model.n_classes

    def slope(t, y):
        x, same, other = y.reshape(k, -1), float(np.ravel(alpha(t))[0]), float(np.ravel(beta(t))[0])
        out = np.zeros_like(x)
        for j in range(k):
            for label in range(k):
                seen = (p * mixing[:, label]) @ x
                out[j] += (same if j == label else other) * blocks[j, label] @ seen
        return out.ravel()

    found = solve_ivp(slope, (0.0, times[-1]), np.ravel(x0), t_eval=times, method="LSODA", rtol=1e-10, atol=1e-12)
    return found.y.T.reshape(len(times), k, -1)


def off(x, exact):
    """Largest distance from the exact solution, over the solution's size."""
    return float(np.abs(x - exact).max() / np.abs(exact).max())


def distance_from_limit(model, start, t_end, steps, n_runs, n_samples=5):
    """How far training in single steps h (Eq. 1) is from the equation (Eq. 2), over ``step``, ``of`` and ``group``.

    "mean": the largest error of an expected class mean, exact, hence the same in all groups of runs; "variance": the
    largest variance of a class mean between the runs of a group. The model is isotropic and has no noise.
    """
    limit = mean_solution(model, [t_end], start)["mean"].values.ravel()
    intra, inter = (part[0] for part in model.drift_parts(model.grid()))
    rows = []
    for h in steps:
        step = np.eye(model.n_classes) + h * (model.intra * intra + model.inter * inter)
        expected = np.linalg.matrix_power(step, round(t_end / h)) @ start.ravel()
        runs = train_discrete(model, [t_end], start, h, n_samples=n_samples, n_runs=n_runs).feature_value
        groups = np.array_split(runs.mean("sample").transpose("run", ...).values, GROUPS)
        rows.append((np.full(GROUPS, abs(expected - limit).max()), [part.var(0).max() for part in groups]))
    far = xr.DataArray(rows, {"step": list(steps), "of": ["mean", "variance"]}, ("step", "of", "group"))
    return said(far, "distance from the limit")


def unexplained_by_eq_9(exponents):
    """What the best fixed vectors of Eq. 9 leave of an L-model in which α fades as 1/(1 + t)^0.8, β by ``exponents``.

    The paper multiplies them by 1, e^((A − B)/3) and e^((A + B/2)/3), which is exact if both fade alike.
    """
    times, left = np.linspace(0.2, 6, 12), []
    for exponent in exponents.values:
        model = ElasticSDE(PowerLaw(1.5, 0.8), PowerLaw(-0.5, float(exponent)), 3, structure="logits")
        a, b = (integral(times)[0] for _, integral in model.rates())
        basis = np.stack([np.ones(12), np.exp((a - b) / 3), np.exp((a + b / 2) / 3)], 1)
        x = integrated(model, times, start(3, 3)).reshape(12, -1)
        left.append(off(basis @ np.linalg.lstsq(basis, x, rcond=None)[0], x))
    return exponents.copy(data=left)


# --- what a linear drift leaves out


def factor(means):
    """The constant C of Eq. B.5, by time and class: own entry of e_k − softmax(X̄ᵏ) over the margin."""
    x = means.transpose(..., "time", "class", "logit")
    own = 1 - np.einsum("...kk->...k", softmax(x.values, -1))
    return x.isel(logit=0, drop=True).copy(data=own) / margins(x)


def above_noise(networks):
    """Class means of all trials, and without each group, from the time on at which margins exceed their noise."""
    groups = networks["group_mean"].rename(slow_time="time").astype(float)
    return [means.isel(time=slice(begins(groups), None)) for means in readings.without_groups(networks)]


def pull_factors(networks):
    """C divided by its value at the end, over the share of training and ``class``, from 1 on."""
    found = factor(above_noise(networks)[0])
    share = found["time"].copy(data=found["time"] / float(found["time"][-1]))
    found = (found / found.isel(time=-1, drop=True)).assign_coords(
        {"time": share.assign_attrs(long_name="time", units="share"), "class": ["1", "2", "3"]}
    )
    return said(found, "C, divided by C at the end")


# --- claims


def after_middle(means):
    """The factor in the middle of training over that at its end, as a logarithm."""
    found = factor(means)
    middle = found.sel(time=float(found["time"][-1]) / 2, method="nearest", drop=True)
    return xr.apply_ufunc(np.log, middle / found.isel(time=-1, drop=True))


@measures("B.B5.constant")
def pull_is_linear(networks):
    """Factor of the pull in the middle of training over that at its end, by class and data."""
    halves = {data: map(after_middle, above_noise(one)) for data, one in networks.items()}
    each = {data: jackknife(*both, over="group", scatter="symmetric") for data, both in halves.items()}
    return Measurement(stack(each, "data").map(np.exp))
