// Controls bound to a model: a slider shows a value of the model and sets it, whoever changed it last.

import { html, number } from "./dom.js";

/** Call `react` now and whenever `name` changes; the result undoes this. */
export function follow(model, name, react) {
  model.on(`change:${name}`, react);
  react();
  return () => model.off(`change:${name}`, react);
}

/** A labelled slider for model value `name`. `say(value)` gives the number shown and `note(value)` a remark below it. */
function slider(model, cleanup, name, { label, range, say, note, speak = say }) {
  const [min, max, step] = range;
  const input = html("input", { type: "range", min, max, step, name });
  const output = html("output");
  const remark = html("small");
  input.addEventListener("input", () => {
    model.set(name, Number(input.value));
    model.save_changes();
  });
  const show = () => {
    const value = model.get(name);
    input.value = value;
    input.setAttribute("aria-valuetext", speak(value));
    output.textContent = say(value);
    if (note) remark.replaceChildren(...[note(value)].flat());
  };
  cleanup.push(follow(model, name, show));
  // Only name and input stand inside the label: an output would be labelled in the input's place.
  const named = html("label", {}, html("span", {}, ...label), input);
  const root = html("div", { class: "slider" }, named, output, ...(note ? [remark] : []));
  return { root, show };
}

/** One slider for each entry of `all`, {name: options}, with the range that the model has for it. */
export function sliders(model, cleanup, all) {
  const ranges = model.get("ranges");
  return Object.entries(all).map(([name, options]) => slider(model, cleanup, name, { range: ranges[name], ...options }));
}

/** Says a number with `n` decimals. */
export const digits = (n) => (value) => number(value, n);

/** Instructions to unfold; a line is a list of words and elements. */
export function help(...lines) {
  const items = lines.map((line) => html("li", {}, ...[line].flat()));
  return html("details", {}, html("summary", {}, "How to read this"), html("ul", {}, ...items));
}

/** A button; `explain` becomes its tooltip. */
export function button(label, explain, action) {
  return html("button", { type: "button", title: explain, onclick: action }, label);
}

/** A model for pages without a kernel: the part of Jupyter's widget model that the component uses. */
export function localModel(state) {
  const listeners = new Map();
  const of = (event) => listeners.get(event) ?? listeners.set(event, new Set()).get(event);
  return {
    get: (name) => state[name],
    set(name, value) {
      if (Object.is(state[name], value)) return;
      state[name] = value;
      for (const react of of(`change:${name}`)) react();
    },
    save_changes() {},
    on: (event, react) => of(event).add(react),
    off: (event, react) => of(event).delete(react),
  };
}
