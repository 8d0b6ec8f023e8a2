// The page's timeline, kept from its first byte, and the one wait that a visit makes.
//
// Runs in an isolated world of the top frame, before any script of the page. A MutationObserver stamps every change in
// its own callback: it is exact to a millisecond in a background tab, where timers tick once a second (measured on
// Chromium 156). The interval is a heartbeat and a safety net; its own gaps show throttling. Times are performance.now(),
// milliseconds since this document's navigation started. The page is only ever looked at.
//
// `answers` and `growth` are null where nobody asked for the page's AI answer.
(function (spec, reader, answers, growth, document) {
  const HEARTBEAT_MS = 250;
  const MOST_GAPS = 1000; // between heartbeats that are kept: some four minutes' worth
  const SOONEST_MS = 20; // before looking again at a page that has not changed
  const FEW = 50; // elements that are looked at one by one; the browser finds headings among more of them faster
  const now = () => performance.now();
  const since = (key) => performance.getEntriesByType("navigation")[0]?.[key] || null;

  const counts = []; // [t, rows, whole rows] at every change: a row is whole once the parser has left it
  const heartbeat = { beats: 0, max_gap_ms: 0, gaps: [] };
  let candidates = 0;
  let rows = [];
  let readAt = 0;
  let whole = 0;
  let completeAt = null;
  let lastChange = 0;
  let ending = false; // an event has told that the parser is done, or soon will be
  let parsedAt = null;
  let lastBeat = now();
  let waiting = null;
  let taken = null; // {reason, rows, reading, among, rule}: the results, once they are complete and the answer is not
  let alarm = null; // {id, at}
  let broken = null;

  const parsed = () => document.readyState === "complete" || since("domContentLoadedEventEnd") !== null;

  // Whether what has come could hold a row. Without records all may have.
  function mayHoldRows(records) {
    if (!records || records.length > FEW) return true;
    let seen = 0;
    for (const { addedNodes } of records) {
      for (const node of addedNodes) if (++seen > FEW || reader.mayHold(node)) return true;
    }
    return false;
  }

  function count(t, records) {
    const before = rows.length;
    const seen = mayHoldRows(records) ? reader.candidates() : candidates;
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
      const news = growth?.see(t, records);
      // Nothing that is waited for: when time alone can end the wait, the alarm rings.
      if (taken && records && !news && alarm) return;
      if (!taken) count(t, records);
      if (!records) ending = true;
      if (parsedAt === null && ending && parsed()) parsedAt = t;
      if (waiting) decide(t);
      if (waiting) arm(t);
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
    const found = readAt >= lastChange ? rows : reader.results();
    if (found.length) return take(whole >= rule.results ? "results" : "parsed", found, null, t);
    if (parsedAt === null) return undefined; // it has lost them again
    const reading = reader.read(found);
    if (reading.page_state === "results") return take("parsed", reading.results, reading, t);
    // A page without results can have an answer yet, and a study waits for it.
    if (reading.page_state === "no_results" && rule.answer?.horizon_ms) return take("refused", found, reading, t);
    if (reading.conclusive) return finish("refused", () => reading);
    return t >= quietAt(rule) ? finish("still", () => reading) : undefined;
  }

  const quietAt = (rule) => Math.min(Math.max(lastChange, parsedAt) + rule.quiet_ms, parsedAt + rule.empty_ms);

  function take(reason, found, reading, t) {
    const all = counts.find(([, , left]) => left >= waiting.rule.results);
    completeAt = all ? all[0] : parsedAt;
    const { rule } = waiting;
    if (!growth || !rule.answer) return finish(reason, () => reading || reader.read(found));
    taken = { reason, rows: found, reading, among: candidates, rule };
    growth.note("results_complete", completeAt);
    return decideAnswer(t);
  }

  function decideAnswer(t) {
    const verdict = growth.verdict(waiting.rule.answer, completeAt, t);
    if (verdict === null) return undefined;
    return finish(verdict === "unsupported" ? taken.reason : verdict, last);
  }

  // What the page is, with its rows as they were taken. Where those were fewer than asked for, and more may have come
  // since, with the rows that it has now.
  function last() {
    if (taken.reading) return taken.reading;
    const known = taken.rows.length >= taken.rule.results || reader.candidates() === taken.among;
    const found = known ? taken.rows : reader.results();
    return reader.read(found.length < taken.rows.length ? taken.rows : found);
  }

  // An answer is read in a turn of its own: in the observer's callback that would hold up the very script of the page
  // that has just changed it, and cost twice as much (Chromium 156). Until then the page is watched on.
  function finish(reason, read) {
    const { rule, resolve, reject } = waiting;
    waiting = null;
    const end = () => {
      stop();
      try {
        resolve(said(reason, read()));
      } catch (error) {
        reject(error);
      }
    };
    return growth && rule.answer ? nextTurn(end) : end();
  }

  // No timer: in a hidden tab those tick once a second.
  function nextTurn(act) {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      act();
    };
    port2.postMessage(null);
  }

  // When the rule can come true though nothing changes. In a hidden tab timers tick once a second: there the host asks
  // (`tick`).
  function arm(t) {
    const { rule } = waiting;
    if (!taken && parsedAt === null) return;
    const due = taken ? growth.due(rule.answer, completeAt) : quietAt(rule);
    // One that rings too early looks, and sets itself anew: cheaper than to be set anew at each of a page's changes.
    if (alarm && alarm.at <= due) return;
    clearTimeout(alarm?.id);
    const wait = Math.max(due - t, SOONEST_MS);
    alarm = { id: setTimeout(onAlarm, wait), at: t + wait };
  }

  function onAlarm() {
    alarm = null;
    look(now());
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
    if (heartbeat.gaps.length < MOST_GAPS) heartbeat.gaps.push(t - lastBeat);
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
    clearTimeout(alarm?.id);
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
      observed_ms: now(),
      counts,
      visibility: visibility(),
      heartbeat,
      answer: growth && growth.timeline(),
    };
  }

  return {
    // A promise of the JSON text {reason, reading, answer, timeline}. rule: {results, quiet_ms, empty_ms, answer}, the
    // last null or {budget_ms, quiet_ms, early_stop, horizon_ms}.
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
