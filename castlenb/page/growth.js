// The AI answer's part of the timeline: what the page showed of it at each change, and what the wait for it has come to.
// Times are those at which the watcher was told of a change, in milliseconds on the page clock. With `keep` its mark-up is
// kept at each of them, for captures.
(function (answers, keep) {
  const MOST = 4000; // changes that are kept, the last one always; an answer has some hundreds

  const FRAMES = 1000;
  const HELD = 16e6; // characters of mark-up in all of them

  const changes = []; // [t, state, chars, signature]
  const first = {}; // state: when it was first in it
  const markers = {}; // name: when it was first there
  const signals = {}; // moment of the results': what was known of the answer by then
  let left_out = 0;
  let words_ms = null; // when its words last changed: once it has settled, when it did
  let last = answers.probe();
  const frames = []; // [t, html]
  let held = 0;

  // To be called at every change, with its MutationRecords; without them everything is looked at again. Returns whether
  // the answer has changed.
  function see(t, records) {
    const found = answers.probe(records);
    if (found === last) return false;
    const rewritten = found.chars !== last.chars || found.signature !== last.signature;
    const changed = rewritten || found.state !== last.state;
    if (found.markers !== last.markers) {
      for (const name of Object.keys(found.markers)) if (found.markers[name]) markers[name] ??= t;
    }
    last = found;
    if (!changed) return false;
    first[found.state] ??= t;
    if (rewritten) words_ms = t;
    if (changes.length === MOST) left_out += 1;
    changes[Math.min(changes.length, MOST - 1)] = [t, found.state, found.chars, found.signature];
    if (keep) frame(t);
    return true;
  }

  // Where there are too many, or they are too large, the last takes the place of the one before it. Pictures are let go.
  function frame(t) {
    const html = answers.html().replace(/\bdata:[^\s"'()<>]{40,}/g, "data:,");
    if (html === (frames.at(-1)?.[1] ?? "")) return;
    if (frames.length && (frames.length === FRAMES || held + html.length > HELD)) held -= frames.pop()[1].length;
    held += html.length;
    frames.push([t, html]);
  }

  // What could foretell an answer at this moment; a later study tells how well it does.
  function note(moment, t) {
    signals[moment] ??= { t, state: last.state, wrapper: last.wrapper };
  }

  // null while the wait goes on; else "unsupported", "marker" or "quiet" (it has settled), "declined", "budget". `since`
  // is when the results were complete. A page that still shows that it is writing is not quiet. With a horizon it is
  // what holds then.
  function verdict(rule, since, t) {
    if (last.state === "unsupported") return "unsupported";
    if (t < rule.horizon_ms) return null;
    if (last.state === "settled") return "marker";
    if (last.state === "growing" && t - words_ms >= rule.quiet_ms && !answers.busy()) return "quiet";
    if (last.state === "declined" && rule.early_stop) return "declined";
    return t - since >= rule.budget_ms ? "budget" : null;
  }

  // When the verdict can change though the page does not.
  function due(rule, since) {
    const soonest = Math.min(since + rule.budget_ms, last.state === "growing" ? words_ms + rule.quiet_ms : Infinity);
    return Math.max(soonest, rule.horizon_ms);
  }

  const progress = () => [last.state, last.chars];

  const timeline = () => ({ state: last.state, first, markers, words_ms, changes, left_out, signals });

  return { see, note, verdict, due, progress, timeline, frames: () => frames };
})
