// What every explorer is: a view of the model's parameters, laid out anew when these or its width change.

import { slider } from "./controls.js";
import { html, set, snap, write } from "./dom.js";

/** A subclass calls `begin`, and has `draw()`, and `layout()` for what needs not be done while things move. */
export class View {
  /** `parameters` are names of values of the model; whenever one changes everything is laid out anew. */
  constructor(model, parameters) {
    this.model = model;
    this.watched = parameters;
    [this.ranges, this.choices] = [model.get("ranges"), model.get("choices")];
    this.cleanup = [];
    this.controls = [];
    this.word = html("strong");
    this.meaning = html("span");
    this.numbers = html("p", { class: "numbers" }, html("span"), html("span"), html("span"));
    this.status = html("p", { class: "spoken", role: "status" });
  }

  /** Show these parts in `el`. */
  begin(el, kind, label, ...parts) {
    this.root = html("div", { class: `deepmech-explorer ${kind}`, role: "group", "aria-label": label }, ...parts, this.status);
    // JupyterLab would take arrow keys, Enter and others for its own shortcuts; it asks the very element that has the focus.
    for (const focusable of this.root.querySelectorAll("input, button, select, summary, [tabindex]")) {
      focusable.setAttribute("data-lm-suppress-shortcuts", "true");
    }
    el.append(this.root);
    this.place();
    this.watch(this.watched, () => this.place());
    const resized = new ResizeObserver(([entry]) => {
      // Only the width counts: the height follows from it, and answering to it could go round in circles.
      if (entry.contentRect.width && entry.contentRect.width !== this.width) this.place();
    });
    resized.observe(this.root);
    this.cleanup.push(() => resized.disconnect());
  }

  /** Call `react` whenever one of these values of the model changes. */
  watch(names, react) {
    for (const name of names) {
      this.model.on(`change:${name}`, react);
      this.cleanup.push(() => this.model.off(`change:${name}`, react));
    }
  }

  /** Call `react` now and whenever this value of the model changes. */
  follow(name, react) {
    this.watch([name], react);
    react();
  }

  /** A slider for each of `all`, {name: options}, over the range or through the choices that the model has for it. */
  sliders(all, more = "") {
    const made = Object.entries(all).map(([name, options]) => {
      const choices = this.choices[name];
      return slider(this, name, { range: this.ranges[name], values: choices && (() => choices), ...options });
    });
    this.controls.push(...made);
    return html("div", { class: `sliders${more}` }, ...made.map((control) => control.root));
  }

  /** Lay everything out and draw it, once there is room: Jupyter builds a widget before it shows it. */
  place() {
    this.width = this.root.clientWidth;
    if (!this.width) return;
    for (const control of this.controls) control.show();
    this.layout?.();
    this.draw();
    this.root.dataset.width = this.width;
  }

  /** Whether the reader asked for less motion. */
  get calm() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
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

  /** The three numbers, for ears. */
  get inNumbers() {
    return `${Array.from(this.numbers.children, (e) => e.textContent).join(", ")}.`;
  }

  /** Let a screen reader say the state. */
  speak(first, then) {
    if (this.width) this.status.textContent = `${first}. ${this.word.textContent}: ${this.meaning.textContent}. ${then}`;
  }
}

const MISSING = -32768;

/** Numbers that came with the page as 16-bit multiples of a step (page.py), they or their logarithms; nan where one is missing. */
export function unpacked({ step, data, log }) {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0)), view = new DataView(bytes.buffer);
  return Float64Array.from({ length: bytes.length / 2 }, (_, i) => {
    const count = view.getInt16(2 * i, true);
    return count === MISSING ? NaN : log ? 10 ** (count * step) : count * step;
  });
}

/** A model for pages without a kernel: the part of Jupyter's widget model that the component uses. */
function localModel(state) {
  const changes = new EventTarget();
  return {
    get: (name) => state[name],
    set(name, value) {
      if (Object.is(state[name], value)) return;
      state[name] = value;
      changes.dispatchEvent(new Event(`change:${name}`));
    },
    save_changes() {},
    on: (event, react) => changes.addEventListener(event, react),
    off: (event, react) => changes.removeEventListener(event, react),
  };
}

/** What the address says of a value of the state: within its range, one of its choices, or nothing. */
export function fitting(state, name, text) {
  const { ranges, choices } = state;
  if (choices[name]) return choices[name].find((choice) => String(choice) === text);
  if (typeof state[name] === "boolean") return text === "true";
  const value = Number(text), [low, high, step] = ranges[name] ?? [0, Infinity, 0];
  if (text === "" || !Number.isFinite(value) || value < low || value > high) return undefined;
  return step ? snap(value, [low, high, step]) : value;
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
 * How `Explorer` is shown: Jupyter calls `render`; on a page without kernel it starts here in every element
 * [data-deepmech-`kind`] that waits for it. The JSON inside is its state, of which the values `names` stand in the address.
 */
export function hosted(Explorer, kind, names) {
  const mark = `data-deepmech-${kind}`, render = ({ model, el }) => {
    const explorer = new Explorer(model, el);
    return () => {
      for (const undo of explorer.cleanup) undo();
      explorer.root.remove();
    };
  };
  for (const el of globalThis.document?.querySelectorAll(`[${mark}]:has(script)`) ?? []) {
    const state = JSON.parse(el.querySelector("script").textContent);
    el.removeAttribute(mark);
    render({ model: addressed(kind, names, state), el });
  }
  return { render };
}
