// What every explorer is: a view of the model's parameters, laid out anew when these or its width change.

import { localModel } from "./controls.js";
import { html, set, write } from "./dom.js";

/** A subclass builds `root`, calls `begin` with it, and has `layout()`, for what depends on parameters and width, and `draw()`. */
export class View {
  constructor(model, parameters) {
    this.model = model;
    this.watched = parameters;
    this.cleanup = [];
    this.word = html("strong");
    this.meaning = html("span");
    this.numbers = html("p", { class: "numbers" }, html("span"), html("span"), html("span"));
    this.status = html("p", { class: "spoken", role: "status" });
  }

  begin(root, el) {
    this.root = root;
    // JupyterLab would take arrow keys, Enter and others for its own shortcuts; it asks the very element that has the focus.
    for (const focusable of root.querySelectorAll("input, button, select, summary, [tabindex]")) {
      focusable.setAttribute("data-lm-suppress-shortcuts", "true");
    }
    el.append(root);
    this.place();
    this.watch(this.watched, () => this.place());
    const resized = new ResizeObserver(([entry]) => {
      // Only the width counts: the height follows from it, and answering to it could go round in circles.
      if (entry.contentRect.width && entry.contentRect.width !== this.width) this.place();
    });
    resized.observe(root);
    this.cleanup.push(() => resized.disconnect());
  }

  /** Call `react` whenever one of these values of the model changes. */
  watch(names, react) {
    for (const name of names) {
      this.model.on(`change:${name}`, react);
      this.cleanup.push(() => this.model.off(`change:${name}`, react));
    }
  }

  /** Lay everything out and draw it, once there is room: Jupyter builds a widget before it shows it. */
  place() {
    this.width = this.root.clientWidth;
    if (!this.width) return;
    this.layout();
    this.draw();
    this.root.dataset.width = this.width;
  }

  /** Draw what has changed without any change of parameters or width. */
  redraw() {
    if (this.width) this.draw();
  }

  get parameters() {
    return Object.fromEntries(this.watched.map((name) => [name, this.model.get(name)]));
  }

  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  /** The state in words and numbers. */
  head() {
    return html("div", { class: "head" }, html("p", { class: "state" }, this.word, this.meaning), this.numbers);
  }

  /** Show the state: its key for the style sheet, its name, what it means, and three numbers. */
  show(regime, word, meaning, numbers) {
    this.regime = regime;
    set(this.root, { "data-regime": regime });
    write(this.word, word);
    write(this.meaning, meaning);
    numbers.forEach((text, i) => write(this.numbers.children[i], text));
  }
}

/** What the address says of a value of the state: within its range, one of its choices, or nothing. */
function fitting(state, name, text) {
  const now = state[name], [low, high, step] = state.ranges?.[name] ?? [0, name === "seed" ? 99 : Infinity, name === "seed" ? 1 : 0];
  const choices = state.choices?.[name] ?? (name === "shade" ? ["curvature", "outcome"] : Object.keys(state.diagrams ?? state.phases ?? {}));
  if (state.choices?.[name] || typeof now === "string") return choices.find((choice) => String(choice) === text);
  if (typeof now === "boolean") return text === "true";
  const value = Number(text);
  if (text === "" || !Number.isFinite(value) || value < low || value > high) return undefined;
  return step ? Number((Math.round(value / step) * step).toFixed(6)) : value;
}

/** The values `names` of a page's state stand in its address, #chain:noise=0.01&seed=3, so that they can be sent. */
function addressed(kind, names, state) {
  const mark = `#${kind}:`, model = localModel(state);
  if (location.hash.startsWith(mark)) {
    for (const [name, text] of new URLSearchParams(location.hash.slice(mark.length))) {
      const value = names.includes(name) ? fitting(state, name, text) : undefined;
      if (value !== undefined) state[name] = value;
    }
  }
  if ("jpThemeLight" in document.body.dataset) return model; // JupyterLab has an address of its own
  let waiting;
  const write = () => {
    const now = mark + new URLSearchParams(names.map((name) => [name, String(state[name])]));
    try {
      history.replaceState(null, "", now);
    } catch {
      location.replace(now); // from disk
    }
  };
  for (const name of names) {
    model.on(`change:${name}`, () => {
      clearTimeout(waiting);
      waiting = setTimeout(write, 250);
    });
  }
  return model;
}

/**
 * How `Explorer` is shown: `render` for Jupyter, `startPages` for every element [data-deepmech-`kind`] of a page, where the
 * values `names` stand in the address.
 */
export function hosted(Explorer, kind, names) {
  function render({ model, el }) {
    const explorer = new Explorer(model, el);
    return () => {
      for (const undo of explorer.cleanup) undo();
      explorer.root.remove();
    };
  }

  /** Start every explorer that waits on a page without kernel: its state is the JSON inside its element. */
  function startPages() {
    const mark = `data-deepmech-${kind}`;
    for (const el of document.querySelectorAll(`[${mark}]`)) {
      const state = JSON.parse(el.querySelector("script").textContent);
      el.removeAttribute(mark);
      render({ model: addressed(kind, names, state), el });
    }
  }
  return { render, startPages };
}
