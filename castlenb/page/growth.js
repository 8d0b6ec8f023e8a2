// The AI answer's part of the timeline: what the page showed of it at each change, and what the wait for it has come to.
// Times are those at which the watcher was told of a change, in milliseconds on the page clock.
(function (answers) {
  const MOST = 4000; // changes that are kept, the last one always; an answer has some hundreds

  const changes = []; // [t, state, chars, signature]
  const first = {}; // state: when it was first in it
  const markers = {}; // name: when it was first there
  const signals = {}; // moment of the results': what was known of the answer by then
  let left_out = 0;
  let words_ms = null; // when its words last changed: once it has settled, when it did
  let last = answers.probe();

  // To be called at every change, with its MutationRecords; without them everything is looked at again.
  function see(t, records) {
    const found = answers.probe(records);
    if (found === last) return;
    const rewritten = found.chars !== last.chars || found.signature !== last.signature;
    const changed = rewritten || found.state !== last.state;
    for (const name of Object.keys(found.markers)) if (found.markers[name]) markers[name] ??= t;
    last = found;
    if (!changed) return;
    first[found.state] ??= t;
    if (rewritten) words_ms = t;
    if (changes.length === MOST) left_out += 1;
    changes[Math.min(changes.length, MOST - 1)] = [t, found.state, found.chars, found.signature];
  }

  // What could foretell an answer at this moment; a later study tells how well it does.
  function note(moment, t) {
    signals[moment] ??= { t, state: last.state, wrapper: last.wrapper };
  }

  // null while the wait goes on; else "unsupported", "marker" or "quiet" (it has settled), "declined", "budget". `since`
  // is when the results were complete. A page that still shows that it is writing is not quiet.
  function verdict(rule, since, t) {
    if (last.state === "unsupported") return "unsupported";
    if (last.state === "settled") return "marker";
    if (last.state === "growing" && t - words_ms >= rule.quiet_ms && !answers.busy()) return "quiet";
    if (last.state === "declined" && rule.early_stop) return "declined";
    return t - since >= rule.budget_ms ? "budget" : null;
  }

  // When the verdict can change though the page does not.
  const due = (rule, since) =>
    Math.min(since + rule.budget_ms, last.state === "growing" ? words_ms + rule.quiet_ms : Infinity);

  const progress = () => [last.state, last.chars];

  const timeline = () => ({ state: last.state, first, markers, words_ms, changes, left_out, signals });

  return { see, note, verdict, due, progress, timeline };
})
