// Random edits of a document; returns every scene on the way, as one JSON text: many objects would take longer.
async () => {
  const edits = await import("/static/edits.js");
  const { COLORS, SHAPES, SIZES, decode, encode, toWire } = await import("/static/scene.js");
  const { newDoc } = await import("/static/store.js");
  let seed = 1;
  const pick = (options) => options[(seed = (seed * 48271) % 2147483647) % options.length];
  const range = [...Array(161).keys()].map((number) => number - 30);
  const scenes = [];
  let doc = newDoc("", decode("sy2.40.80_cb3.0.0_tk1.90.90"));
  for (let number = 0; number < 2000; number++) {
    const look = { color: pick(COLORS), shape: pick(SHAPES), size: pick(SIZES) };
    const { id } = pick(doc.scene.flat());
    const change = pick([
      () => edits.move(doc, id, pick([0, 1, 2]), pick(range), pick(range)),
      () => edits.restyle(doc, id, look),
      () => edits.add(doc, pick([0, 1, 2]), look)[0],
      () => (pick([0, 1, 2]) ? doc : edits.remove(doc, id)),
      () => (number % 9 ? doc : edits.changeKind(doc, pick(["tower", "scatter", "scatter"]))),
    ]);
    try {
      doc = change();
    } catch (error) {
      if (!(error instanceof edits.Refusal)) throw error;
    }
    scenes.push(toWire(doc.scene));
    if (encode(decode(encode(doc.scene))) !== encode(doc.scene)) throw new Error("a link does not restore its scene");
  }
  return JSON.stringify(scenes);
};
