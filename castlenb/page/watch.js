// The page's timeline, kept from its first byte, and the one wait that a visit makes.
//
// Runs in an isolated world of the top frame, before any script of the page. A MutationObserver stamps every change in
// its own callback: it is exact to a millisecond in a background tab, where timers tick once a second (measured on
// Chromium 156). The interval is a heartbeat and a safety net; its own gaps show throttling. Times are performance.now(),
// milliseconds since this document's navigation started. The page is only ever looked at.
//
// `answers` and `growth` are null where nobody asked for the page's AI answer.
(function (spec, reader, answers, growth) {
  const HEARTBEAT_MS = 250;
  const SOONEST_MS = 20; // before looking again at a page that has not changed
  const FEW = 50; // elements that are looked at one by one; the browser finds headings among more of them faster
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
  let taken = null; // {reason, reading}: the results, once they are complete and only the answer is waited for
  let alarm = null;
  let broken = null;

  const parsed = () => document.readyState === "complete" || since("domContentLoadedEventEnd") !== null;

  // Whether what has come could hold a row. Without records all may have.
  function mayHoldRows(records) {
    let seen = 0;
    for (const { addedNodes } of records || []) {
      for (const node of addedNodes) if (++seen > FEW || reader.mayHold(node)) return true;
    }
    return !records;
  }

  function count(t, records) {
    const before = rows.length;
    if (whole === before && !mayHoldRows(records)) return;
    const seen = reader.candidates();
    if (seen !== candidates) {
      candidates = seen;
      rows = reader.results();
      readAt = t;
    } else if (whole === before) return;
    const left = rows.length && !reader.whole(rows[rows.length - 1]) ? rows.length - 1 : rows.length;
    if (rows.length === before && left === whole) return;
    whole = left;
    counts.push([t, rows.length, whole]);
    if (rows.length) growth?.note("parse_ready", t);
  }

  // What fails here fails the wait: an error in a listener would only be logged, and waited on until the deadline.
  function look(t, records) {
    try {
      // An event can come before the observer's callback about what led to it.
      if (!records && observer.takeRecords().length) lastChange = t;
      growth?.see(t, records);
      if (!taken) count(t, records);
      if (parsedAt === null && parsed()) parsedAt = t;
      if (waiting) decide(t);
      if (waiting) arm();
    } catch (error) {
      broken = error;
    }
    if (!broken || !waiting) return;
    stop();
    waiting.reject(broken);
    waiting = null;
  }

  // The rule: as many results as asked for, or a parsed document with at least one; a page without any is given up at
  // once when it says why, else when it has been quiet for a while. Then, where it was asked for, the answer.
  function decide(t) {
    const { rule } = waiting;
    if (taken) return decideAnswer(t);
    // Half of the last row would lack the end of its snippet.
    if (whole < rule.results && parsedAt === null) return undefined;
    const reading = reader.read(readAt >= lastChange ? rows : null);
    if (whole >= rule.results) return take("results", reading, t);
    if (reading.page_state === "results") return take("parsed", reading, t);
    if (reading.conclusive) return finish("refused", reading);
    return t >= quietAt(rule) ? finish("still", reading) : undefined;
  }

  const quietAt = (rule) => Math.min(Math.max(lastChange, parsedAt) + rule.quiet_ms, parsedAt + rule.empty_ms);

  function take(reason, reading, t) {
    const all = counts.find(([, , left]) => left >= waiting.rule.results);
    completeAt = all ? all[0] : parsedAt;
    if (!growth || !waiting.rule.answer) return finish(reason, reading);
    growth.note("results_complete", completeAt);
    taken = { reason, reading };
    return decideAnswer(t);
  }

  function decideAnswer(t) {
    const verdict = growth.verdict(waiting.rule.answer, completeAt, t);
    if (verdict === null) return undefined;
    if (verdict === "unsupported") return finish(taken.reason, taken.reading);
    return finish(verdict, last());
  }

  // The results as they are now; as they were, where the page has lost some meanwhile.
  function last() {
    const reading = reader.read();
    return reading.results.length < taken.reading.results.length ? taken.reading : reading;
  }

  function finish(reason, reading) {
    const { resolve } = waiting;
    waiting = null;
    stop();
    resolve(said(reason, reading));
  }

  // When the rule can come true though nothing changes. In a hidden tab timers tick once a second: there the host asks
  // (`tick`).
  function arm() {
    clearTimeout(alarm);
    const { rule } = waiting;
    if (!taken && parsedAt === null) return;
    const due = taken ? growth.due(rule.answer, completeAt) : quietAt(rule);
    alarm = setTimeout(() => look(now()), Math.max(due - now(), SOONEST_MS));
  }

  function onMutation(records) {
    lastChange = now();
    look(lastChange, records);
  }

  const onEvent = () => look(now());

  function onBeat() {
    const t = now();
    heartbeat.beats += 1;
    heartbeat.max_gap_ms = Math.max(heartbeat.max_gap_ms, t - lastBeat);
    lastBeat = t;
    look(t);
  }

  const observer = new MutationObserver(onMutation);
  // An attribute can reveal an answer, or say that it is whole; results come with their elements.
  observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: growth !== null });
  const beat = setInterval(onBeat, HEARTBEAT_MS);
  const EVENTS = ["readystatechange", "DOMContentLoaded"];
  for (const event of EVENTS) document.addEventListener(event, onEvent, { capture: true });
  window.addEventListener("load", onEvent, { capture: true });

  function stop() {
    observer.disconnect();
    clearInterval(beat);
    clearTimeout(alarm);
    for (const event of EVENTS) document.removeEventListener(event, onEvent, { capture: true });
    window.removeEventListener("load", onEvent, { capture: true });
  }

  // From the browser's own record: a listener for visibilitychange would make Chrome ask the page before closing it.
  const visibility = () => performance.getEntriesByType("visibility-state").map((each) => [each.startTime, each.name]);

  const said = (reason, reading) =>
    JSON.stringify({ reason, reading, answer: answers ? answers.answer() : null, timeline: timeline() });

  function timeline() {
    return {
      origin_ms: performance.timeOrigin,
      status: since("responseStatus"),
      request_start_ms: since("requestStart"),
      response_end_ms: since("responseEnd"),
      parsed_ms: since("domContentLoadedEventStart") ?? parsedAt,
      loaded_ms: since("loadEventStart"),
      results_complete_ms: completeAt,
      counts,
      visibility: visibility(),
      heartbeat,
      answer: growth && growth.timeline(),
    };
  }

  return {
    // A promise of the JSON text {reason, reading, answer, timeline}. rule: {results, quiet_ms, empty_ms, answer}, the
    // last null or {budget_ms, quiet_ms, early_stop}.
    wait(rule) {
      return new Promise((resolve, reject) => {
        waiting = { rule, resolve, reject };
        look(now());
      });
    },
    // For a tab whose timers do not run.
    tick() {
      if (waiting) look(now());
    },
    // What is waited for: JSON of ["results", how many there are], then of the answer's [state, characters of prose].
    progress: () => JSON.stringify(taken && growth ? growth.progress() : ["results", rows.length]),
    // The same at this instant, whatever the rule would say: for a deadline that has passed.
    now() {
      stop();
      return taken ? said("budget", last()) : said("deadline", reader.read());
    },
  };
})
