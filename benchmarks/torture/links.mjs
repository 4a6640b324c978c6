// Damaged links of the page, for some seconds: each is read as a scene that is valid, or as none; nothing is thrown.
// Arguments: the folder of the page's modules, a world's tables as JSON, seed, seconds. Prints a JSON list: inputs,
// failures.

const [folder, tree, seed, seconds] = process.argv.slice(2);
const { fromLink } = await import(`${folder}/store.js`);
const { decode, encode } = await import(`${folder}/scene.js`);
const { World } = await import(`${folder}/world.js`);
const world = new World(JSON.parse(tree));
const numbers = ["0", "1", "2", "40", "n1", "0p5", "1e9", "1en9", "9".repeat(400), "", "NaN", "x", "__proto__"];
const parts = [".", "-", "_", "%", "&b=", "&s=", "+", "#", "\0", "\ud800", "é", ...numbers];
let state = (Number(seed) % 2147483646) + 1;
const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
const pick = (options) => options[Math.floor(random() * options.length)];
const item = () => [...world.attributes.map(() => pick(numbers)), ...Array(pick([1, 2, 2, 2, 4]))].map((each) => each ?? pick(numbers)).join(".");
const box = () => Array.from({ length: pick([0, 1, 1, 2, 9]) }, item).join("-");
const valid = ["_", "0.0.0.0.0_0.1.1.40.40_1.2.2.10.70"];

const failures = new Map();
let inputs = 0;
let scenes = 0;
const end = Date.now() + 1000 * Number(seconds);
while (Date.now() < end)
  for (let number = 0; number < 1000; number++, inputs++) {
    let code = random() < 0.5 ? Array.from({ length: pick([0, 1, 3, 3, 4]) }, box).join("_") : pick(valid);
    for (let change = pick([0, 1, 2, 4]); change > 0; change--) {
      const at = Math.floor(random() * (code.length + 1));
      code = code.slice(0, at) + pick(parts) + code.slice(at + pick([0, 1, 1, 5]));
    }
    const link = `#${pick(["s=", "m=a b c&s=", "", "s=x&s=y"])}${pick(["%", "%e9", "a", ""])}&b=${code}`;
    try {
      const found = fromLink(link);
      const scene = found.code === null ? null : decode(world, found.code);
      scenes += scene !== null;
      if (scene && !decode(world, encode(world, scene))) throw new Error("a valid scene is not read again");
    } catch (error) {
      failures.set(`${error.stack}`.split("\n").slice(0, 2).join(" "), link);
    }
  }
if (!scenes) failures.set("no link was read as a scene", "");
console.log(JSON.stringify([inputs, Array.from(failures, ([what, link]) => ({ reader: "links", place: "node", what, input: link }))]));
