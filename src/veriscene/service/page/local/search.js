// The fewest edits of a scene that flip a verdict: a port of `find_flip` in the package's judge/explain.py.

import { boxKey, codeOf, edits } from "./changes.js";

const CLEAR = 0.1; // a flip whose probability is this far from 0.5 is preferred to smaller but closer ones
const CANDIDATES_PER_JUDGEMENT = 16;
const READ_PER_JUDGEMENT = 64;
const BATCH = 64;

/** {flip, judgements, isComplete, verdict}; flip is {scene, edits, verdict} or null. `judge(scenes)` returns a promise
 *  of verdicts {probability, verdict, understood}; `program` is what the judge reads the statement as, or null. */
export async function findFlip(world, scene, judge, { program = null, mostEdits = 2, mostJudgements = 1000 } = {}) {
  const [verdict] = await judge([scene]);
  let judged = 1;
  const result = (flip, isComplete) => ({ flip, judgements: judged, isComplete, verdict });
  if (!verdict.understood) return result(null, true);
  const towardsFlip = verdict.verdict ? -1 : 1;
  const isRead = program !== null && program.holds(scene) === verdict.verdict;
  const perJudgement = isRead ? READ_PER_JUDGEMENT : CANDIDATES_PER_JUDGEMENT;
  const isKept = (candidate) => !isRead || program.holds(candidate.scene) === verdict.verdict;
  const seen = new Set([keyOf(scene)]);
  let gains = new Map();
  let parents = [{ scene, edits: [], gain: 0 }];
  let isComplete = true;
  for (let size = 1; size <= mostEdits; size++) {
    let left = mostJudgements - judged;
    const [candidates, areAll] = expand(world, parents, gains, seen, perJudgement * left, isRead);
    if (isRead && size < mostEdits) left -= Math.min(BATCH, Math.floor(left / 2)); // kept for several edits
    for (const each of candidates) each.isKept = Number(isKept(each));
    const flips = [];
    parents = [];
    for (const group of size === 1 ? byCost(candidates) : byPromise(candidates)) {
      const asked = group.slice(0, left);
      left -= asked.length;
      const found = asked.length ? await judge(asked.map((each) => each.scene)) : [];
      asked.forEach((candidate, at) => {
        parents.push({ ...candidate, gain: towardsFlip * (logOdds(found[at]) - logOdds(verdict)) });
        if (found[at].verdict !== verdict.verdict) flips.push({ ...candidate, verdict: found[at] });
      });
      judged += asked.length;
      if (flips.some((flip) => clarity(flip) >= CLEAR)) break;
    }
    if (flips.length) return result(flips.reduce((best, each) => (isPreferred(each, best) ? each : best)), true);
    isComplete = isComplete && areAll && parents.length === candidates.length;
    if (!isComplete && (!isRead || judged === mostJudgements)) return result(null, false);
    if (size === 1) gains = new Map(parents.map(({ edits: [edit], gain }) => [editKey(edit), gain]));
    parents.sort((one, other) => other.gain - one.gain);
  }
  return result(null, isComplete);
}

/** The scenes one edit away from the parents and not seen before, and whether these are all of them. With
 *  `changesFirst`, up to half of them only change values, whatever their gains. */
function expand(world, parents, gains, seen, most, changesFirst) {
  const found = [];
  const add = (parent, onlyChanges) => {
    for (const [edit, scene] of edits(world, parent.scene, onlyChanges)) {
      const key = keyOf(scene);
      if (seen.has(key)) continue;
      seen.add(key);
      found.push({ scene, edits: [...parent.edits, edit], gain: parent.gain + (gains.get(editKey(edit)) ?? 0) });
    }
  };
  const changed = parents.filter(({ edits: list }) => list.length && list.every(({ kind }) => kind === "change"));
  for (const parent of changesFirst ? changed : []) if (found.length < most / 2) add(parent, true);
  for (const parent of parents) {
    if (found.length >= most) return [found, false];
    add(parent, false);
  }
  return [found, true];
}

const keyOf = (scene) => scene.map(boxKey).join("|");
const editKey = ({ kind, box, before, after, attribute }) =>
  [kind, box, before && codeOf(before), after && codeOf(after), attribute].join("|");
const costOf = ({ edits: list }) => list.reduce((sum, edit) => sum + edit.cost, 0);
const clarity = ({ verdict }) => Math.abs(verdict.probability - 0.5);

/** From the smallest change to the largest; of one size, those that change the truth of what was read come first. */
function byCost(candidates) {
  candidates.sort((one, other) => one.isKept - other.isKept);
  const groups = new Map();
  for (const each of candidates) {
    const cost = costOf(each);
    if (!groups.has(cost)) groups.set(cost, []);
    groups.get(cost).push(each);
  }
  return [...groups.keys()].sort((one, other) => one - other).map((cost) => groups.get(cost));
}

/** Those that change the truth of what was read come first, then those with the largest gains. */
function byPromise(candidates) {
  candidates.sort((one, other) => one.isKept - other.isKept || other.gain - one.gain || costOf(one) - costOf(other));
  const groups = [];
  for (let start = 0; start < candidates.length; start += BATCH) groups.push(candidates.slice(start, start + BATCH));
  return groups;
}

function logOdds({ probability }) {
  const inside = Math.min(Math.max(probability, 1e-12), 1 - 1e-12);
  return Math.log(inside / (1 - inside));
}

/** Clear flips first, then the smallest change, the shortest moves, and the clearest. */
function isPreferred(one, other) {
  const rank = (flip) => {
    const moves = flip.edits.filter(({ kind }) => kind === "move");
    const far = moves.reduce((sum, { before, after }) => sum + Math.abs(after.x - before.x) + Math.abs(after.y - before.y), 0);
    return [Number(clarity(flip) < CLEAR), costOf(flip), far, -clarity(flip)];
  };
  const [mine, theirs] = [rank(one), rank(other)];
  const at = mine.findIndex((each, place) => each !== theirs[place]);
  return at >= 0 && mine[at] < theirs[at];
}
