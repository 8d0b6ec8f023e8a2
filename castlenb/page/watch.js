// The page's timeline, kept from its first byte, and the one wait that a visit makes.
//
// Runs in an isolated world of the top frame, before any script of the page. A MutationObserver stamps every change in
// its own callback: it is exact to a millisecond in a background tab, where timers tick once a second (measured on
// Chromium 156). The interval is a heartbeat and a safety net; its own gaps show throttling. Times are performance.now(),
// milliseconds since this document's navigation started. The page is only ever looked at.
(function (spec, reader, answers) {
  const HEARTBEAT_MS = 250;
  const now = () => performance.now();
  const since = (key) => performance.getEntriesByType("navigation")[0]?.[key] || null;

  const counts = []; // [t, rows, whole rows] at every change: a row is whole once the parser has left it
  const heartbeat = { beats: 0, max_gap_ms: 0 };
  let candidates = 0;
  let rows = [];
  let readAt = 0;
  let whole = 0;
  let completeAt = null;
  let lastChange = 0;
  let parsedAt = null;
  let lastBeat = now();
  let waiting = null;
  let broken = null;

  const parsed = () => document.readyState === "complete" || since("domContentLoadedEventEnd") !== null;

  function count() {
    const before = rows.length;
    const seen = reader.candidates();
    if (seen !== candidates) {
      candidates = seen;
      rows = reader.results();
      readAt = now();
    } else if (whole === rows.length) return;
    const left = rows.length && !reader.whole(rows[rows.length - 1]) ? rows.length - 1 : rows.length;
    if (rows.length === before && left === whole) return;
    whole = left;
    counts.push([now(), rows.length, whole]);
  }

  // What fails here fails the wait: an error in a listener would only be logged, and waited on until the deadline.
  function look() {
    try {
      count();
      if (parsedAt === null && parsed()) parsedAt = now();
      if (waiting) decide();
    } catch (error) {
      broken = error;
    }
    if (!broken || !waiting) return;
    stop();
    waiting.reject(broken);
    waiting = null;
  }

  // The rule: as many results as asked for, or a parsed document with at least one; a page without any is given up at
  // once when it says why, else when it has been quiet for a while.
  function decide() {
    const { rule } = waiting;
    // Half of the last row would lack the end of its snippet.
    if (whole < rule.results && parsedAt === null) return undefined;
    const reading = reader.read(readAt >= lastChange ? rows : null);
    if (whole >= rule.results) return finish("results", reading);
    if (reading.page_state === "results") return finish("parsed", reading);
    if (reading.conclusive) return finish("refused", reading);
    const quietSince = Math.max(lastChange, parsedAt);
    const gone = now();
    if (gone - quietSince >= rule.quiet_ms || gone - parsedAt >= rule.empty_ms) return finish("quiet", reading);
    return undefined;
  }

  function finish(reason, reading) {
    const { resolve } = waiting;
    const all = counts.find(([, , left]) => left >= waiting.rule.results);
    if (reading.results.length) completeAt = all ? all[0] : parsedAt;
    waiting = null;
    stop();
    resolve(said(reason, reading));
  }

  function onMutation() {
    lastChange = now();
    look();
  }

  function onBeat() {
    const t = now();
    heartbeat.beats += 1;
    heartbeat.max_gap_ms = Math.max(heartbeat.max_gap_ms, t - lastBeat);
    lastBeat = t;
    look();
  }

  const observer = new MutationObserver(onMutation);
  observer.observe(document, { subtree: true, childList: true, characterData: true });
  const beat = setInterval(onBeat, HEARTBEAT_MS);
  const listening = [
    ["readystatechange", look],
    ["DOMContentLoaded", look],
  ];
  for (const [event, listener] of listening) document.addEventListener(event, listener, { capture: true });
  window.addEventListener("load", look, { capture: true });

  function stop() {
    observer.disconnect();
    clearInterval(beat);
    for (const [event, listener] of listening) document.removeEventListener(event, listener, { capture: true });
    window.removeEventListener("load", look, { capture: true });
  }

  // From the browser's own record: a listener for visibilitychange would make Chrome ask the page before closing it.
  const visibility = () => performance.getEntriesByType("visibility-state").map((each) => [each.startTime, each.name]);

  const said = (reason, reading) =>
    JSON.stringify({ reason, reading, answer: answers ? answers.answer() : null, timeline: timeline() });

  function timeline() {
    return {
      origin_ms: performance.timeOrigin,
      status: since("responseStatus"),
      response_end_ms: since("responseEnd"),
      parsed_ms: since("domContentLoadedEventStart") ?? parsedAt,
      loaded_ms: since("loadEventStart"),
      results_complete_ms: completeAt,
      counts,
      visibility: visibility(),
      heartbeat,
    };
  }

  return {
    // A promise of the JSON text {reason, reading, answer, timeline}. rule: {results, quiet_ms, empty_ms}.
    wait(rule) {
      return new Promise((resolve, reject) => {
        waiting = { rule, resolve, reject };
        look();
      });
    },
    // The same at this instant, whatever the rule would say: for a deadline that has passed.
    now() {
      stop();
      return said("deadline", reader.read());
    },
  };
})
