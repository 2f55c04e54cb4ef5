// usage: node bench_page_check.js PAGE
// Runs the page's script in a document that only keeps what is added to it, and checks the plots.
"use strict";
const assert = require("assert");
const page = require("fs").readFileSync(process.argv[2], "utf8");
const scripts = [...page.matchAll(/<script[^>]*>([^]*?)<\/script>/g)].map((match) => match[1]);
assert.strictEqual(scripts.length, 2, "names do not end scripts");

const svg = "http://www.w3.org/2000/svg";
function makeElement(name, namespaceURI) {
  return {
    name, namespaceURI, attributes: {}, children: [], textContent: "",
    setAttribute(key, value) { this.attributes[key] = value; },
    appendChild(child) { this.children.push(child); return child; },
  };
}
const body = makeElement("body");
const document = {
  body,
  createElement: (name) => makeElement(name),
  createElementNS: (space, name) => makeElement(name, space),
  getElementById: () => ({ textContent: scripts[0] }),
};
new Function("document", scripts[1])(document);

const all = (node, wanted) => node.children.flatMap((child) => [...(wanted(child) ? [child] : []), ...all(child, wanted)]);
const titles = all(body, (node) => node.name === "h2").map((node) => node.textContent);
assert.deepStrictEqual(titles, ["Speed-up by fusion", "Bandwidth", "Roofline", "Sizes", "Graphs and kernels"]);
for (const node of all(body, () => true))
  for (const [key, value] of Object.entries(node.attributes)) assert(!/NaN|Infinity|undefined/.test(String(value)), `${node.name} ${key}=${value}`);

const rows = all(body, (node) => node.attributes.class === "row");
assert.strictEqual(rows.length, 4, "two graphs in each of two plots, the larger of two sizes");
for (const row of rows) {
  const name = all(row, (node) => node.name === "text")[0].textContent;
  const bars = all(row, (node) => node.name === "rect");
  assert.strictEqual(bars.length, 2);
  for (const bar of bars) assert(bar.children[0].textContent.startsWith(`${name}, `), "a bar is labelled with its graph");
}
const roofs = all(body, (node) => node.attributes.class === "roof");
assert.strictEqual(roofs.length, 3, "memory, matrix unit, vector unit");
assert(roofs.every((roof) => roof.namespaceURI === svg));
assert.strictEqual(all(body, (node) => node.name === "circle").length, 3);
assert.strictEqual(all(body, (node) => node.name === "polyline").length, 1);
assert.strictEqual(all(body, (node) => node.name === "b").length, 0);
assert.strictEqual(all(body, (node) => node.attributes.class === "graph").length, 3);
