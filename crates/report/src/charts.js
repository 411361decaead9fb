// Curves and stacked areas in SVG, redrawn at the width they have, read with pointer or arrow keys.

const charts = [];
const HEIGHT = 210, RIGHT = 12, TOP = 8, BOTTOM = 24;
// Room for the labels of levels: at least so much, so that charts beside each other mostly begin at one line.
const room = (labels) => Math.max(50, 12 + 6.3 * highest(labels.map((label) => label.length)));

// How many values on either side a smoothed one is the mean of, and the least number of values that are smoothed.
const smoothing = { reach: 2, least: 9 };

function ticks(low, high, count, least = 0) {
  const raw = Math.max(least, (high - low) / count) || 1;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * unit).find((size) => size >= raw) || 10 * unit;
  const found = [];
  for (let at = Math.ceil(low / step - 1e-9) * step; at <= high + step * 1e-6; at += step) found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return found;
}

function smoothed(values, reach) {
  return values.map((_, index) => mean(values.slice(Math.max(0, index - reach), index + reach + 1)));
}

// What stands for a curve or an area in a legend: a piece of the line, dashed as it is drawn, or of the area.
const lineSwatch = (colour, dash) => svg("svg", { class: "swatch", viewBox: "0 0 24 8", "aria-hidden": "true" },
  svg("line", { x1: 0, x2: 24, y1: 4, y2: 4, stroke: `var(${colour})`, "stroke-width": 2, "stroke-dasharray": dash }));
const areaSwatch = (colour) => el("i", { style: `background:var(${colour})` });

// A figure with its caption, readout and legend of [name, swatch]; `paint(width)` gives {nodes, x, xs, read}.
function chart(title, note, paint, legend, wide) {
  const id = `chart-${charts.length}`;
  const canvas = svg("svg", { tabindex: "0", role: "img", "aria-labelledby": id, "aria-description": "Arrow keys read the values; Enter opens the completions of the step." });
  const readout = el("div", { class: "readout", role: "status" });
  const node = el("figure", { class: wide ? "card wide" : "card" },
    el("figcaption", {}, el("h3", { id }, title), el("span", { class: "soft small" }, note)), canvas, readout,
    legend && el("ul", { class: "legend" }, legend.map(([name, swatch]) => el("li", {}, swatch, name))));
  let painted = null, place = null;
  const point = (index) => {
    place = Math.max(0, Math.min(painted.xs.length - 1, index));
    const at = painted.x(painted.xs[place]);
    canvas.querySelector(".cursor")?.remove();
    canvas.append(svg("line", { class: "cursor", x1: at, x2: at, y1: TOP, y2: HEIGHT - BOTTOM, stroke: "var(--soft)", "stroke-dasharray": "3 3" }));
    readout.textContent = `step ${painted.xs[place]}: ${painted.read(painted.xs[place])}`;
  };
  const open = () => { if (openStep && painted && place !== null) openStep(painted.xs[place]); };
  const draw = () => {
    const width = Math.max(240, canvas.clientWidth || 360);
    painted = paint(width);
    canvas.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
    canvas.replaceChildren();
    grow(canvas, {}, painted.nodes);
    if (place !== null) point(place);
  };
  canvas.addEventListener("pointermove", (event) => {
    if (!painted || !painted.xs.length) return;
    const at = event.clientX - canvas.getBoundingClientRect().left;
    let best = 0;
    painted.xs.forEach((x, index) => { if (Math.abs(painted.x(x) - at) < Math.abs(painted.x(painted.xs[best]) - at)) best = index; });
    point(best);
  });
  canvas.addEventListener("click", open);
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") open();
    const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -1e9, End: 1e9 }[event.key];
    if (!move || !painted || !painted.xs.length) return;
    event.preventDefault();
    point((place === null ? (move > 0 ? -1 : painted.xs.length) : place) + move);
  });
  charts.push({ node, draw });
  return node;
}

function drawAll() {
  for (const { node, draw } of charts) if (node.isConnected) draw();
}

// Labels with as many digits as tell the levels apart. Levels that are all small have powers of ten, like what is read off them.
function distinct(levels, show) {
  if (show === number && levels.every((at) => Math.abs(at) < 0.001)) return (at) => (at ? Number(at.toPrecision(6)).toExponential() : "0");
  for (let digits = 0; digits < 6; digits++) {
    const exact = levels.every((at) => [1, 100].some((scale) => Math.abs(scale * at - Number((scale * at).toFixed(digits))) < 1e-9 && (scale === 1 || show === percent)));
    if (exact && new Set(levels.map((at) => show(at, digits))).size === levels.length) return (at) => show(at, digits);
  }
  return (at) => show(at);
}

function axes(width, xs, [low, high], show) {
  const first = xs.length ? lowest(xs) : 0, last = xs.length ? highest(xs) : 1;
  const levels = ticks(low, high, 4);
  const labels = levels.map(distinct(levels, show));
  const left = room(labels);
  // What is alone stands in the middle, with its range on both sides of it.
  const x = (value) => left + (last === first ? 0.5 : (value - first) / (last - first)) * (width - left - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - ((value - low) / (high - low || 1)) * (HEIGHT - TOP - BOTTOM);
  const nodes = [];
  levels.forEach((at, index) => {
    nodes.push(svg("line", { x1: left, x2: width - RIGHT, y1: y(at), y2: y(at), stroke: "var(--grid)" }));
    nodes.push(svg("text", { x: left - 6, y: y(at) + 4, "text-anchor": "end" }, labels[index]));
  });
  nodes.push(svg("text", { x: 6, y: HEIGHT - 7 }, "step"));
  for (const at of ticks(first, last, Math.max(2, Math.floor(width / 70)), 1)) {
    if (first !== last && Number.isInteger(at)) nodes.push(svg("text", { x: x(at), y: HEIGHT - 7, "text-anchor": "middle" }, at));
  }
  if (first === last) nodes.push(svg("text", { x: x(first), y: HEIGHT - 7, "text-anchor": "middle" }, first));
  return { x, y, nodes };
}

// "M x y L x y ...", broken where a value is lacking.
function path(xs, ys, x, y) {
  let text = "", pen = "M";
  xs.forEach((at, index) => {
    if (ys[index] === null || ys[index] === undefined) { pen = "M"; return; }
    text += `${pen}${x(at).toFixed(1)} ${y(ys[index]).toFixed(1)}`;
    pen = "L";
  });
  return text;
}

function band(xs, lows, highs, x, y) {
  const there = xs.map((_, index) => index).filter((index) => known([lows[index], highs[index]]).length === 2);
  const side = (ys, order) => order.map((index) => `${x(xs[index]).toFixed(1)} ${y(ys[index]).toFixed(1)}`);
  return there.length < 2 ? "" : `M${side(highs, there).concat(side(lows, [...there].reverse())).join("L")}Z`;
}

// series: {name, colour, dash?, xs, ys, lows?, highs?, smooth?, dots?}; `legend`, in place of the series: [name, colour, dash]
function lines({ title, note, series, show = number, floor = null, ceiling = null, legend, wide }) {
  // Beside other runs, one that alone has this figure is named as well.
  const named = series.length > 1;
  series = series.filter((one) => known(one.ys).length);
  if (!series.length) return null;
  const xs = [...new Set(series.flatMap((one) => one.xs))].sort((a, b) => a - b);
  const all = known(series.flatMap((one) => [...one.ys, ...(one.lows || []), ...(one.highs || [])]));
  let low = floor ?? lowest(all), high = Math.max(highest(all), ceiling ?? -Infinity);
  if (floor === null) low = Math.min(low, low > 0 && low < 0.4 * high ? 0 : low);
  if (high <= low) high = low + Math.max(1e-9, Math.abs(low) * 0.1 || 1);
  else high += ceiling === null ? 0.04 * (high - low) : 0;
  const paint = (width) => {
    const { x, y, nodes } = axes(width, xs, [low, high], show);
    for (const one of series) {
      const colour = `var(${one.colour})`;
      if (one.lows) nodes.push(svg("path", { d: band(one.xs, one.lows, one.highs, x, y), fill: colour, opacity: .18 }));
      const drawn = one.smooth && smoothing.reach && one.ys.length >= smoothing.least ? smoothed(one.ys, smoothing.reach) : one.ys;
      if (drawn !== one.ys) nodes.push(svg("path", { d: path(one.xs, one.ys, x, y), fill: "none", stroke: colour, opacity: .35 }));
      nodes.push(svg("path", { d: path(one.xs, drawn, x, y), fill: "none", stroke: colour, "stroke-width": 2, "stroke-linejoin": "round", "stroke-dasharray": one.dash }));
      if (one.dots || known(one.ys).length === 1) one.ys.forEach((value, index) => {
        if (value !== null) {
          const at = x(one.xs[index]);
          if (one.lows && known([one.lows[index]]).length) {
            const [low, high] = [y(one.lows[index]), y(one.highs[index])];
            nodes.push(svg("path", { d: `M${at} ${low}V${high}M${at - 5} ${low}h10M${at - 5} ${high}h10`, stroke: colour, "stroke-width": 1.5 }));
          }
          nodes.push(svg("circle", { cx: at, cy: y(value), r: 3.5, fill: one.dash ? "var(--card)" : colour, stroke: colour }));
        }
      });
    }
    return { nodes, x, xs, read: (at) => series.map((one) => {
      const index = one.xs.indexOf(at);
      if (index < 0 || one.ys[index] === null) return null;
      if (one.told) return one.told(index);
      const ends = one.lows ? between(one.lows[index], one.highs[index], show) : null;
      return `${named ? one.name + " " : ""}${show(one.ys[index])}${ends ? ` (${ends})` : ""}`;
    }).filter(Boolean).join(" · ") };
  };
  const entries = legend ?? (named ? series.map((one) => [one.name, one.colour, one.dash]) : null);
  return chart(title, note, paint, entries && entries.map(([name, colour, dash]) => [name, lineSwatch(colour, dash)]), wide);
}

// layers: {name, colour, ys}; bottom first. `share` scales each step to 1.
function stack({ title, note, xs, layers, show = number, share = false, wide }) {
  layers = layers.filter((layer) => known(layer.ys).some((value) => value > 0));
  if (!layers.length || !xs.length) return null;
  const totals = xs.map((_, index) => layers.reduce((sum, layer) => sum + (layer.ys[index] || 0), 0));
  const value = (layer, index) => (layer.ys[index] || 0) / (share ? totals[index] || 1 : 1);
  const high = share ? 1 : highest(totals);
  const paint = (width) => {
    // A single step is as wide as the chart, and stands in its middle.
    const wideXs = xs.length === 1 ? [xs[0] - 0.5, xs[0] + 0.5] : xs;
    const { x, y, nodes } = axes(width, wideXs, [0, high], show);
    let below = xs.map(() => 0);
    for (const layer of layers) {
      const above = below.map((base, index) => base + value(layer, index));
      const [lows, highs] = xs.length === 1 ? [[below[0], below[0]], [above[0], above[0]]] : [below, above];
      nodes.push(svg("path", { d: band(wideXs, lows, highs, x, y), fill: `var(${layer.colour})`, stroke: "var(--card)", "stroke-width": .75 }));
      below = above;
    }
    return { nodes, x, xs, read: (at) => {
      const index = xs.indexOf(at);
      return layers.map((layer) => `${layer.name} ${show(value(layer, index))}`).join(" · ");
    } };
  };
  return chart(title, note, paint, layers.map((layer) => [layer.name, areaSwatch(layer.colour)]), wide);
}
