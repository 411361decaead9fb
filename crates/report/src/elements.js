"use strict";
// Elements and numbers. Text goes in as text nodes: nothing here parses markup.

const SVG = "http://www.w3.org/2000/svg";

function grow(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child instanceof Node ? child : String(child));
  }
  return node;
}
const el = (tag, attributes, ...children) => grow(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => grow(document.createElementNS(SVG, tag), attributes, children);
// What may be larger than its place: the keyboard reaches it, and then scrolls it.
const region = (kind, label, ...children) => el("div", { class: kind, tabindex: "0", role: "region", "aria-label": label }, ...children);

function number(value, digits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (digits === undefined) digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : null;
  if (digits === null) return value.toExponential(1);
  // Nothing is less than nothing: what rounds to zero has no sign.
  if (Number(value.toFixed(digits)) === 0) value = 0;
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
// In whole percent 0 % is none, and 100 % is all.
function percent(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  if (digits === 0 && value > 0 && value < 0.005) return "<1 %";
  if (digits === 0 && value >= 0.995 && value < 1) return ">99 %";
  return `${number(100 * value, digits)} %`;
}
// A share that may be small, and is not nothing then.
const share = (value) => (value > 0 && value < 0.0005 ? "<0.1 %" : value > 0 && value < 0.01 ? percent(value, 1) : percent(value));
const whole = (value, digits = 0) => number(value, digits);
const seconds = (value, digits) => (value === null || value === undefined ? "–" : `${number(value, digits ?? (value < 10 ? 2 : 1))} s`);
function lasting(value) {
  const minutes = Math.round(value / 60);
  return value < 120 ? `${Math.round(value)} s` : minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
const moment = (at) => `${new Date(1000 * at).toISOString().slice(0, 16).replace("T", " ")} UTC`;

const known = (values) => (values || []).filter((value) => value !== null && value !== undefined);
// Both ends of an interval in words; null where one is unknown, or both are one point.
const between = (low, high, show) => (known([low, high]).length === 2 && low < high ? `${show(low)} to ${show(high)}` : null);
// The least and the greatest of any number of values; a function takes fewer arguments than a long run has steps.
const lowest = (values) => values.reduce((least, value) => Math.min(least, value), Infinity);
const highest = (values) => values.reduce((greatest, value) => Math.max(greatest, value), -Infinity);
const mean = (values) => (known(values).length ? known(values).reduce((sum, value) => sum + value, 0) / known(values).length : null);

function table(head, rows) {
  const numeric = head.map((_, column) => column > 0 && rows.some((row) => row[column] !== "") &&
    rows.every((row) => /^[\s\d.,×–%+e<>-]*( s)?$/.test(String(row[column]))));
  const cell = (tag, text, column) => el(tag, { class: numeric[column] ? "number" : null, scope: tag === "th" ? "col" : null }, text);
  return region("scroll", `table of ${head.filter(Boolean).join(", ")}`, el("table", {},
    el("thead", {}, el("tr", {}, head.map((text, column) => cell("th", text, column)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text, column) => cell("td", text, column)))))));
}

// Python, coloured well enough to read.
const TOKEN = /(#[^\n]*)|("""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|\b(\d[\d_.]*(?:e[+-]?\d+)?)\b|\b(and|as|assert|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b/g;

// A program with its lines numbered, to be copied, or kept as a file of that name.
function source(text, name) {
  const said = el("span", { class: "soft small", role: "status" });
  const copy = async () => {
    try { await navigator.clipboard.writeText(text); said.textContent = "Copied."; }
    catch { said.textContent = "The browser does not let a page copy: choose the text and copy it."; }
  };
  const keep = () => {
    const address = URL.createObjectURL(new Blob([text.replace(/\n*$/, "\n")], { type: "text/x-python" }));
    el("a", { href: address, download: name || "program.py" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };
  return el("div", { class: "program" }, el("div", { class: "controls" }, el("button", { type: "button", onclick: copy }, "Copy"), el("button", { type: "button", onclick: keep }, "Download"), said), listing(text));
}

function listing(text) {
  const pre = el("pre", { tabindex: "0", "aria-label": "source of the program" });
  const lines = text.replace(/\n+$/, "").split("\n").length;
  let line = 0, at = 0;
  const width = String(lines).length;
  const mark = () => pre.append(el("span", { class: "l", "aria-hidden": "true" }, `${String(++line).padStart(width)}  `));
  const put = (piece, kind) => piece.split("\n").forEach((part, index) => {
    if (index > 0) { pre.append("\n"); if (line < lines) mark(); }
    if (part) pre.append(kind ? el("span", { class: kind }, part) : part);
  });
  mark();
  text = text.replace(/\n+$/, "");
  for (const found of text.matchAll(TOKEN)) {
    put(text.slice(at, found.index));
    put(found[0], found[1] ? "c" : found[2] ? "s" : found[3] ? "n" : "k");
    at = found.index + found[0].length;
  }
  put(text.slice(at));
  return pre;
}
