// Random edits of a document of a world; returns every scene on the way, as one JSON text: many objects would take longer.
async ({ tree, code }) => {
  const edits = await import("/static/edits.js");
  const { decode, encode, toWire } = await import("/static/scene.js");
  const { newDoc } = await import("/static/store.js");
  const { World } = await import("/static/world.js");
  const world = new World(tree);
  let seed = 1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  const pick = (options) => options[Math.floor(random() * options.length)];
  const anywhere = (room) => (1.6 * random() - 0.3) * room;
  const valueOf = ({ kind, choices, low, high, step }) =>
    kind === "numeric" ? low + step * Math.floor(random() * ((high - low) / step + 1)) : pick(choices).name;
  const scenes = [];
  let doc = newDoc(world, "", decode(world, code));
  for (let number = 0; number < 2000; number++) {
    const values = Object.fromEntries(world.attributes.map((attribute) => [attribute.name, valueOf(attribute)]));
    const [width, height] = world.canvas.map((side) => Math.ceil((random() * side) / 2));
    const look = { values, ...world.extentOf(values, { width, height }) };
    const id = pick(doc.scene.flat())?.id;
    const box = pick([...doc.scene.keys()]);
    const change = pick([
      () => (id ? edits.move(doc, id, box, anywhere(world.canvas[0]), anywhere(world.canvas[1])) : doc),
      () => (id ? edits.restyle(doc, id, look) : doc),
      () => edits.add(doc, box, look)[0],
      () => edits.add(doc, box, look)[0],
      () => (id ? edits.remove(doc, id) : doc),
      () => (random() < 0.2 ? edits.addBox(doc, look) : doc),
      () => (random() < 0.1 ? edits.removeBox(doc, box) : doc),
      () => (world.tower && random() < 0.1 ? edits.changeKind(doc, pick(["tower", "scatter", "scatter"])) : doc),
    ]);
    try {
      doc = change();
    } catch (error) {
      if (!(error instanceof edits.Refusal)) throw error;
    }
    scenes.push(toWire(world, doc.scene));
    const link = encode(world, doc.scene);
    const restored = decode(world, link);
    if (restored === null || encode(world, restored) !== link) throw new Error(`a link does not restore its scene: ${link}`);
  }
  return JSON.stringify(scenes);
};
