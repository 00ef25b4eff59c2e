// The sliders of the spring-block explorer, and its instructions.

import { digits, help, sliders } from "./controls.js";
import { number, symbol } from "./dom.js";
import { ETA, equilibrium } from "./spring_block.js";

/** One slider for each parameter and for the speed; `parameters()` gives the chain as it stands. */
export function chainSliders(model, cleanup, parameters) {
  const moving = () => {
    const p = parameters(), n = equilibrium(p).moving;
    return `without noise ${n === p.n_blocks ? `all ${n} move` : `${n} of ${p.n_blocks} move`}`;
  };
  return sliders(model, cleanup, {
    friction_right: { label: ["friction right ", symbol("μ", "→")], say: digits(3), note: moving },
    friction_left: { label: ["friction left ", symbol("μ", "←")], say: digits(3), note: () => "felt only with noise" },
    noise: {
      label: ["noise ", symbol("ε")], say: digits(4),
      note: (v) => `force kicks of ε/√η = ${number(v / Math.sqrt(ETA), 3)}`,
    },
    stiffness: { label: ["stiffness ", symbol("k")], say: digits(1), note: () => "force per length; y = 1" },
    n_blocks: { label: ["blocks ", symbol("L")], say: String, note: () => "a new chain starts at the wall" },
    speed: { label: ["speed"], say: String, note: () => "units of time per second" },
  });
}

/** What the picture shows; `linear` and `memory` are the rules by which the words are chosen. */
export function chainHelp(linear, memory) {
  return help(
    ["A spring joins each block to the next; the last one pulls towards the target. Block ", symbol("ℓ"),
      " stands for layer ", symbol("ℓ"), " of a network, its distance to the target for the load still to be carried."],
    "Hollow blocks: friction holds them against their springs; only noise can move them.",
    "The teeth of the table are steep where friction is large: their left faces resist motion to the right, " +
      "their right faces motion to the left.",
    "Drag the ring through the phase diagram, or move it with the arrow keys (with Shift five times as far). " +
      "On the solid line the load curve is straight at the time written below.",
    "Curvature: how far the load curve lies above its chord (below: negative), on average, as a share of its range. " +
      "Energy: what the springs hold, half of k times their elongations squared.",
    `The words and the curvature follow a running mean over ${memory} units of time; a curvature within ` +
      `${linear} of zero counts as linear.`,
    `In each step of ${ETA} a block moves by the step times what friction lets through of spring force and noise ` +
      "(Eqs. 5 and 6).",
  );
}
