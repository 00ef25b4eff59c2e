"""The work of the other benchmarks in jitted JAX, in the form that JAX does fastest: loops of steps are one
``lax.scan``, many networks one ``vmap``, state is donated, random numbers come from XLA's own generator (``rbg``).

``pip install -e .[peers]``; a benchmark goes without these rows where JAX is missing, and says so. One call computes on
one thread, so that two calls at once use two cores as the other contenders do. Import this module before any other
one imports JAX: threads are set by a variable of the environment that JAX reads once.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_cpu_enable_async_dispatch", False)  # a call ends when its numbers are there
jax.config.update("jax_default_prng_impl", "rbg")

EPS, MOMENTUM = 1e-5, 0.1  # of torch's BatchNorm1d
State = Any


def stateful(step: Callable[[State], State], state: State) -> Callable[[], None]:
    """``step`` compiled, with its state donated: each call goes on from where the last one ended."""
    jitted = jax.jit(step, donate_argnums=0)
    held = [state]

    def run() -> None:
        held[0] = jax.block_until_ready(jitted(held[0]))

    return run


def mlp(
    x: np.ndarray, y: np.ndarray, sizes: list[int], batch: int, dropout: float, networks: int
) -> Callable[[], None]:
    """One epoch of the network of Fig. 1 of the spring-block paper (BatchNorm with running averages, ReLU, Adam)."""
    data = jnp.asarray(x).reshape(-1, batch, x.shape[1]), jnp.asarray(y).reshape(-1, batch)

    def start(key: jax.Array) -> State:
        norms = {"scale": jnp.ones(sizes[0]), "shift": jnp.zeros(sizes[0])}
        layers = []
        for a, b, k in zip(sizes[:-1], sizes[1:], jax.random.split(key, len(sizes) - 1), strict=True):
            w = jax.random.uniform(k, (a, b), minval=-1, maxval=1) / np.sqrt(a)
            layers.append({"w": w, "b": jnp.zeros(b), "scale": jnp.ones(b), "shift": jnp.zeros(b)})
        parameters = {"norm": norms, "layers": layers}
        averages = [{"mean": jnp.zeros(d), "var": jnp.ones(d)} for d in sizes[:-1]]
        zeros = jax.tree.map(jnp.zeros_like, parameters)
        return {
            "p": parameters,
            "m": zeros,
            "v": jax.tree.map(jnp.copy, zeros),
            "averages": averages,
            "t": 0,
            "key": key,
        }

    def norm(x: jax.Array, p: State) -> tuple[jax.Array, State]:
        mean, var = x.mean(0), x.var(0)
        y = (x - mean) * (p["scale"] * lax.rsqrt(var + EPS)) + p["shift"]
        return y, {"mean": mean, "var": var * (len(x) / (len(x) - 1))}

    def loss(p: State, x: jax.Array, y: jax.Array, key: jax.Array) -> tuple[jax.Array, list[State]]:
        x, seen = norm(x, p["norm"])
        all_seen = [seen]
        for layer, k in zip(p["layers"][:-1], jax.random.split(key, len(p["layers"]) - 1), strict=True):
            x, seen = norm(x @ layer["w"] + layer["b"], layer)
            x = jax.nn.relu(x)
            if dropout:
                stays = jax.random.bits(k, x.shape, jnp.uint32) >= np.uint32(dropout * 2**32)  # cheaper than bernoulli
                x = jnp.where(stays, x / (1 - dropout), 0)
            all_seen.append(seen)
        logits = x @ p["layers"][-1]["w"] + p["layers"][-1]["b"]
        of_label = jnp.take_along_axis(logits, y[:, None], 1)[:, 0]
        return (jax.nn.logsumexp(logits, 1) - of_label).mean(), all_seen

    def step(s: State, xy: tuple[jax.Array, jax.Array]) -> tuple[State, None]:
        key, now = jax.random.split(s["key"])
        g, seen = jax.grad(loss, has_aux=True)(s["p"], *xy, now)
        t = s["t"] + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, s["m"], g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, s["v"], g)
        rate, less = 1e-3 / (1 - 0.9**t), 1 / (1 - 0.999**t)
        p = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v * less) + 1e-8), s["p"], m, v)
        averages = jax.tree.map(lambda a, b: (1 - MOMENTUM) * a + MOMENTUM * b, s["averages"], seen)
        return {"p": p, "m": m, "v": v, "averages": averages, "t": t, "key": key}, None

    def epoch(s: State) -> State:
        return lax.scan(step, s, data)[0]

    keys = jax.random.split(jax.random.key(0), networks)
    if networks == 1:
        return stateful(epoch, start(keys[0]))
    return stateful(jax.vmap(epoch), jax.vmap(start)(keys))


def lenet(x: np.ndarray, y: np.ndarray, steps: int, rate: float, trials: int) -> Callable[[], None]:
    """Steps at batch one of paper B's LeNet. Convolutions are matrix products of patches: of one image XLA does these
    faster than its own convolution."""
    images, labels = jnp.asarray(x, jnp.float32).reshape(-1, 32, 32), jnp.asarray(y)

    def start(key: jax.Array) -> State:
        shapes = [(25, 6), (150, 16), (400, 120), (120, 84), (84, 3)]
        ks = jax.random.split(key, len(shapes))
        return [
            (jax.random.uniform(k, s, minval=-1, maxval=1) / np.sqrt(s[0]), jnp.zeros(s[1]))
            for k, s in zip(ks, shapes, strict=True)
        ]

    def patches(a: jax.Array) -> jax.Array:
        side = a.shape[0] - 4
        return jnp.concatenate([a[i : i + side, j : j + side] for i in range(5) for j in range(5)], -1)

    def pooled(a: jax.Array) -> jax.Array:
        return jax.nn.relu(a.reshape(a.shape[0] // 2, 2, a.shape[1] // 2, 2, -1).max((1, 3)))

    def loss(p: State, image: jax.Array, label: jax.Array) -> jax.Array:
        a = image[:, :, None]
        for w, b in p[:2]:
            a = pooled(patches(a) @ w + b)
        a = a.reshape(-1)
        for w, b in p[2:4]:
            a = jax.nn.relu(a @ w + b)
        logits = a @ p[4][0] + p[4][1]
        return jax.nn.logsumexp(logits) - logits[label]

    def step(p: State, i: jax.Array) -> tuple[State, None]:
        g = jax.grad(loss)(p, images[i], labels[i])
        return jax.tree.map(lambda p, g: p - rate * g, p, g), None

    def run(p: State) -> State:
        return lax.scan(step, p, jnp.arange(steps) % len(labels))[0]

    keys = jax.random.split(jax.random.key(0), trials)
    return stateful(run, start(keys[0])) if trials == 1 else stateful(jax.vmap(run), jax.vmap(start)(keys))


def walk(weights: np.ndarray, sizes: tuple[int, ...], x: np.ndarray, y: np.ndarray, rate: float, noise: float,
         steps: int, networks: int) -> Callable[[], None]:  # fmt: skip
    """Langevin steps of bias-free networks on the quadratic hinge loss, in float32."""
    images, labels = jnp.asarray(x.T, jnp.float32), jnp.asarray(y, jnp.float32)
    layers, begin = [], 0
    for a, b in pairwise(sizes):
        layers.append(jnp.asarray(weights[begin : begin + a * b], jnp.float32).reshape(b, a))
        begin += a * b

    def loss(p: State) -> jax.Array:
        a = images
        for w in p[:-1]:
            a = jax.nn.relu(w @ a)
        return (0.5 * jax.nn.relu(1 - labels * (p[-1] @ a)[0]) ** 2).mean()

    def step(state: State, _: None) -> tuple[State, None]:
        p, key = state
        key, now = jax.random.split(key)
        ks = jax.random.split(now, len(p))
        g = jax.grad(loss)(p)
        new = [w - rate * d + noise * jax.random.normal(k, w.shape) for w, d, k in zip(p, g, ks, strict=True)]
        return (new, key), None

    def run(state: State) -> State:
        return lax.scan(step, state, length=steps)[0]

    if networks == 1:
        return stateful(run, (layers, jax.random.key(0)))
    many = [jnp.tile(w, (networks, 1, 1)) for w in layers]
    return stateful(jax.vmap(run), (many, jax.random.split(jax.random.key(0), networks)))


def chains(right: np.ndarray, left: float, noise: np.ndarray, blocks: int, steps: int, dt: float) -> Callable[[], None]:
    """First-order chains in float64, all at once; chains lie side by side in memory, so that each move is a vector."""
    with jax.enable_x64(True):
        mu, bar = jnp.asarray(right), jnp.asarray(noise)
        x = jnp.zeros((blocks + 2, len(right))).at[-1].set(1)

        def step(state: State, _: None) -> tuple[State, None]:
            x, key = state
            key, now = jax.random.split(key)
            force = x[2:] - 2 * x[1:-1] + x[:-2] + bar * jax.random.normal(now, (blocks, len(right)))
            move = jnp.maximum(force - mu, 0) + jnp.minimum(force + left, 0)
            return (x.at[1:-1].add(dt * move), key), None

        run = stateful(lambda state: lax.scan(step, state, length=steps)[0], (x, jax.random.key(0)))

    def wide() -> None:
        with jax.enable_x64(True):
            run()

    return wide


def diffrax_langevin(n: int, blocks: int, steps: int, dt: float, noise: np.ndarray) -> Callable[[], None]:
    """The smooth (frictionless) Langevin chain, dv = (pull - v) dt + noise dW, in float64: diffrax's own terms for such
    equations, Euler's method and its fastest noise."""
    with jax.enable_x64(True):
        u = jnp.broadcast_to(jnp.asarray(noise)[:, None] ** 2 / 2, (n, blocks))  # diffrax's noise is sqrt(2 gamma u)
        zeros, ones = jnp.zeros((n, 1)), jnp.ones((n, 1))

        def gradient(x: jax.Array, _: None) -> jax.Array:
            wide = jnp.concatenate([zeros, x, ones], 1)
            return -(wide[:, 2:] - 2 * wide[:, 1:-1] + wide[:, :-2]) / u

        def solve(key: jax.Array) -> State:
            path = diffrax.UnsafeBrownianPath(shape=jax.ShapeDtypeStruct((n, blocks), jnp.float64), key=key)
            gamma = jnp.ones((n, blocks))
            terms = diffrax.MultiTerm(
                diffrax.UnderdampedLangevinDriftTerm(gamma, u, gradient),
                diffrax.UnderdampedLangevinDiffusionTerm(gamma, u, path),
            )
            still = jnp.zeros((n, blocks)), jnp.zeros((n, blocks))
            return diffrax.diffeqsolve(
                terms, diffrax.Euler(), 0.0, steps * dt, dt, still, saveat=diffrax.SaveAt(t1=True), max_steps=None,
                adjoint=diffrax.ForwardMode(),
            ).ys  # fmt: skip

        jitted, key = jax.jit(solve), jax.random.key(0)

    def run() -> None:
        with jax.enable_x64(True):
            jax.block_until_ready(jitted(key))

    return run
