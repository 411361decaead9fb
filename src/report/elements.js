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

function number(value, digits) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (digits === undefined) digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.01 ? 3 : null;
  if (digits === null) return value.toExponential(1);
  return value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
const percent = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(0)} %`);
const whole = (value) => number(value, 0);
const seconds = (value) => (value === null || value === undefined ? "–" : `${number(value, value < 10 ? 2 : 1)} s`);

const known = (values) => (values || []).filter((value) => value !== null && value !== undefined);
const mean = (values) => (known(values).length ? known(values).reduce((sum, value) => sum + value, 0) / known(values).length : null);

function table(head, rows) {
  const numeric = head.map((_, column) => column > 0 && rows.some((row) => row[column] !== "") &&
    rows.every((row) => /^[\s\d.,×–%+e-]*( s)?$/.test(String(row[column]))));
  const cell = (tag, text, column) => el(tag, { class: numeric[column] ? "number" : null, scope: tag === "th" ? "col" : null }, text);
  return el("div", { class: "scroll" }, el("table", {},
    el("thead", {}, el("tr", {}, head.map((text, column) => cell("th", text, column)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((text, column) => cell("td", text, column)))))));
}

// Python, coloured well enough to read.
const TOKEN = /(#[^\n]*)|("""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?)|\b(\d[\d_.]*(?:e[+-]?\d+)?)\b|\b(and|as|assert|break|class|continue|def|del|elif|else|except|False|finally|for|from|global|if|import|in|is|lambda|None|nonlocal|not|or|pass|raise|return|True|try|while|with|yield)\b/g;

function source(text) {
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
