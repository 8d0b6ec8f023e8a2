// Reads the engine's AI answer: what there is of it, its text, and what it cites.
// It knows no engine: `spec.answer` says where to look (castlenb/engines/base.py), or is null for an engine without one.
// It only reads, and never looks at the words of the page: those come in every language, and in hidden copies.
//
//   probe(records?)  what there is, cheap enough for every change of the page: {state, chars, signature, markers, wrapper}.
//                    `records` are the MutationRecords since the last call; without them everything is looked at again.
//   busy()           whether what `probe` found last shows that it is still being written
//   html()           the mark-up of what `probe` found last; empty where there is nothing, or where it holds the results
//   place()          where that is: {css, n}, the nth element that a selector finds; null where there is nothing
//   where()          where the answer is as it stands; see below
//   answer()         the same with text, citations and what a careful reader would want to know
(function (spec, dom, prose, sources, document) {
  const plan = spec.answer;
  const part = (name) => spec.parts[`answer_${name}`];
  const { contains, closest, connected, first, within, attribute, textOf, parentOf, is, collapse } = dom;

  if (!plan) {
    const none = { state: "unsupported", chars: 0, signature: 0, markers: {}, wrapper: {} };
    const empty = { settled_by: null, label: null, header: null, text: null, language: null, placement: null, body: null };
    const nowhere = { found: [], whole: [], wrapper: null, bodies: [], css: null };
    const answer = () => ({ ...none, ...empty, citations: [], claims: [], warnings: [], drift: [] });
    return { probe: () => none, busy: () => false, html: () => "", place: () => null, where: () => nowhere, answer };
  }

  const RECHECK_MS = 200;
  const FEW = 50; // changes that are looked at one by one
  const LOADING = part("loading").join(", ");
  const DECLINED = part("declined").join(", ");
  const OFFERED = part("offered").join(", ");
  const ALIKE = part("alike").join(", ");
  const WRAPPER = part("wrapper");
  const BODY = part("body");

  const flags = (names) => Object.fromEntries(names.map((name) => [name, false]));
  const NO_MARKERS = flags(plan.markers.map(({ name }) => name));
  const NO_WRAPPER = flags(WRAPPER);

  // ---- where it is ------------------------------------------------------------------------------------------------

  // What begins with an id is answered from an index, even in quirks mode, where the browser's own short cut is off.
  function finder(css) {
    const [, id, rest] = /^#([\w-]+)(.*)$/s.exec(css) || [];
    if (!id || /,(?![^(]*\))/.test(rest)) return { quick: false, find: () => dom.find(document, css) };
    const inside = /^[^(]*[\s>+~]/.test(rest);
    const find = () => {
      const element = dom.byId(document, id);
      if (!element || inside) return element && first(element, css);
      return rest === "" || is(element, css) ? element : null;
    };
    return { quick: true, find };
  }

  const FINDERS = WRAPPER.map(finder);
  const AREAS = spec.parts.area.map(finder);
  const OFFERS = part("offered").map(finder).filter(({ quick }) => quick);

  const isAlike = (element) => ALIKE !== "" && closest(element, ALIKE) !== null;
  const areas = () => AREAS.map(({ find }) => find()).filter(Boolean);
  const isOffered = () => OFFERS.some(({ find }) => find() !== null);

  // The container holds, or is about to hold, something else where the results are inside it: seen on live pages
  // (field notes, 2026-08-04: 28,864 characters under the answer's own id).
  const isShell = (wrapper, around) => around.some((area) => contains(wrapper, area));

  // Where the prose is: what the first of the selectors finds that has any, outermost only. There can be several parts.
  function bodiesIn(wrapper, around, speaks = prose.speaks) {
    for (let rank = 0; rank < BODY.length; rank++) {
      const css = BODY[rank];
      const found = [...(is(wrapper, css) ? [wrapper] : []), ...within(wrapper, css)];
      const outer = found.filter((each, at) => !found.some((other, before) => before < at && contains(other, each)));
      const bodies = outer.filter((each) => !isShell(each, around) && !isAlike(each) && speaks(each));
      if (bodies.length) return { bodies, css, rank };
    }
    return { bodies: [], css: null, rank: Infinity };
  }

  // ---- what it says of itself -------------------------------------------------------------------------------------

  const display = (element) => getComputedStyle(element).display;

  // Displayed as far as the wrapper goes; the wrapper itself may be hidden, as one that declines is.
  function isShown(element, wrapper) {
    for (let each = element; each && each !== wrapper; each = parentOf(each)) {
      if (display(each) === "none") return false;
    }
    return true;
  }

  const shows = (wrapper, css) => css !== "" && [...within(wrapper, css)].some((each) => isShown(each, wrapper));
  const isLoading = (wrapper) => shows(wrapper, LOADING) && display(wrapper) !== "none";
  const isMarked = (wrapper, css) => is(wrapper, css) || first(wrapper, css) !== null;
  const settles = (markers) => plan.markers.some((marker) => marker.settles && markers[marker.name]);

  // What a wrapper without prose says. Loading is asked first: a page without its style sheet shows every string that it
  // keeps ready.
  function silent(wrapper) {
    if (isLoading(wrapper)) return "loading";
    if (shows(wrapper, DECLINED)) return "declined";
    return OFFERED !== "" && first(wrapper, OFFERED) ? "offered" : "shell";
  }

  // ---- the probe --------------------------------------------------------------------------------------------------

  const ABSENT = { state: "absent", chars: 0, signature: 0, markers: NO_MARKERS, wrapper: NO_WRAPPER };
  let at = null; // {wrapper, bodies, rank, found}: where it was last seen, and what each of WRAPPER found then
  let slow = { when: -Infinity, found: WRAPPER.map(() => null) };
  let words = "";
  let signature = 0;
  let markers = NO_MARKERS;
  let quiet = { key: null, state: null };
  let last = ABSENT;

  // FNV-1a: a rewrite of the same length shows.
  function hash(text) {
    let value = 0x811c9dc5;
    for (let n = 0; n < text.length; n++) value = Math.imul(value ^ text.charCodeAt(n), 0x01000193);
    return value >>> 0;
  }

  // The wrapper of each selector. Those that ask every element of the page are asked now and then, while no other is there.
  function wrappers() {
    const one = ({ find }, n) => {
      const element = find();
      if (!element || element === at?.found[n]) return element;
      return isAlike(element) ? null : element;
    };
    const found = FINDERS.map((each, n) => (each.quick ? one(each, n) : null));
    if (found.some(Boolean)) return found;
    const now = performance.now();
    if (now - slow.when >= RECHECK_MS || slow.found.some((each) => each && !connected(each))) {
      slow = { when: now, found: FINDERS.map((each, n) => (each.quick ? null : one(each, n))) };
    }
    return slow.found;
  }

  function probe(records) {
    const few = records && records.length <= FEW ? records : null; // of many, most are the parser's
    const stands = few !== null && at !== null && connected(at.wrapper);
    const touched = stands ? touching(few) : 0;
    if (stands && !touched && at.bodies.length) return last;
    const inside = stands && touched === few.length && at.bodies.length > 0;
    const found = inside ? at.found : wrappers();
    if (stands && !touched && found.every((each, n) => each === at.found[n])) return last;
    const candidates = inside ? [at.wrapper] : [...new Set(found.filter(Boolean))];
    if (!candidates.length) {
      at = null;
      return (last = isOffered() ? { ...ABSENT, state: "offered" } : ABSENT);
    }
    const place = inside && stays(few) ? at : locate(candidates, areas());
    const moved = !at || at.wrapper !== place.wrapper || !at.bodies.length;
    at = place;
    at.found = found;
    const wrapper = inside ? last.wrapper : Object.fromEntries(WRAPPER.map((css, n) => [css, found[n] !== null]));
    if (!place.bodies.length) return (last = { ...ABSENT, state: quietState(place), wrapper });
    const text = place.bodies.length === 1 ? textOf(place.bodies[0]) : place.bodies.map(textOf).join("\n");
    if (text !== words) {
      words = text;
      signature = hash(text);
    }
    mark(place.wrapper, moved ? null : few, moved);
    const state = settles(markers) && !isLoading(place.wrapper) ? "settled" : "growing";
    return (last = { state, chars: text.length, signature, markers, wrapper });
  }

  // How many of the changes could be the answer's. While it is silent its parent's attributes can tell of it as well.
  function touching(records) {
    const around = at.bodies.length ? null : parentOf(at.wrapper);
    let count = 0;
    for (const { target } of records) if (target === around || contains(at.wrapper, target)) count += 1;
    return count;
  }

  // Whether changes inside it have surely left it where it was: nothing ranks higher, nothing has gone.
  const stays = (records) =>
    at.rank === 0 && records.every(({ removedNodes }) => !removedNodes.length) && !isShell(at.wrapper, areas());

  // Where it is: where it was, while that stands and nothing better ranked has come.
  function locate(candidates, around) {
    if (at?.bodies.length && candidates.includes(at.wrapper) && at.bodies.every((each) => contains(at.wrapper, each))) {
      const better = BODY.slice(0, at.rank).some((css) => first(at.wrapper, css));
      if (!better && !isShell(at.wrapper, around)) return at;
    }
    const whole = candidates.filter((each) => !isShell(each, around));
    for (const wrapper of whole) {
      // Where it has shown prose, words that have come in its place are prose: no styles are asked for at each change.
      const spoken = at?.bodies.length && wrapper === at.wrapper;
      const { bodies, rank } = bodiesIn(wrapper, around, spoken ? prose.mentions : prose.speaks);
      if (bodies.length) return { wrapper, bodies, rank };
    }
    return { wrapper: whole[0] || candidates[0], bodies: [], shell: !whole.length };
  }

  // A marker that has been seen stays seen. With records only what has come is asked.
  function mark(wrapper, records, anew) {
    const known = anew ? NO_MARKERS : markers;
    const missing = plan.markers.filter(({ name }) => !known[name]);
    if (!missing.length) return;
    const come = records && records.flatMap(({ type, target, addedNodes }) => (type === "attributes" ? [target] : [...addedNodes]));
    const elements = come && come.filter((each) => dom.kindOf(each) === Node.ELEMENT_NODE && contains(wrapper, each));
    const marked = (css) => (elements || [wrapper]).some((each) => isMarked(each, css));
    if (elements && !marked(missing.map(({ css }) => css).join(", "))) return;
    const seen = missing.filter(({ css }) => marked(css));
    if (anew || seen.length) markers = { ...known, ...Object.fromEntries(seen.map(({ name }) => [name, true])) };
  }

  // Asking for styles makes the browser work them out: only where an attribute that could change the answer has changed.
  function quietState({ wrapper, shell }) {
    if (shell) return "shell";
    const css = [LOADING, DECLINED, OFFERED].filter(Boolean).join(", ");
    const key = [wrapper, ...(css ? within(wrapper, css) : [])]
      .flatMap((each) => [each, parentOf(each)])
      .map((each) => (each ? ["class", "style", "hidden"].map((name) => attribute(each, name)).join() : ""))
      .join("|");
    if (key !== quiet.key) quiet = { key, state: silent(wrapper) };
    return quiet.state;
  }

  // ---- the whole answer -------------------------------------------------------------------------------------------

  // Where the answer is as it stands: {found, whole, wrapper, bodies, css}; `found` is what each selector finds, `whole`
  // what of it holds no results area. Without prose the best of the wrappers, without any null.
  function where(around) {
    const found = WRAPPER.map((css) => [...dom.select(document, css)].filter((each) => !isAlike(each)));
    const candidates = [...new Set(found.flat())];
    const whole = candidates.filter((each) => !isShell(each, around));
    for (const wrapper of whole) {
      const { bodies, css } = bodiesIn(wrapper, around);
      if (bodies.length) return { found, whole, wrapper, bodies, css };
    }
    return { found, whole, wrapper: whole[0] || candidates[0] || null, bodies: [], css: null };
  }

  function answer() {
    const around = areas();
    const { found, whole, wrapper, bodies, css } = where(around);
    const nothing = {
      state: "absent", settled_by: null, label: plan.label, header: null, text: null, language: null, placement: null,
      citations: [], claims: [], markers: NO_MARKERS, body: null, warnings: [], drift: [], chars: 0, signature: 0,
      wrapper: Object.fromEntries(WRAPPER.map((css, n) => [css, found[n].length > 0])),
    };
    if (!wrapper) return { ...nothing, state: isOffered() ? "offered" : "absent" };
    const warnings = drift(found, whole);
    const lost = bodies.length ? missing(wrapper) : [];
    if (bodies.length) return { ...nothing, ...read(wrapper, bodies, around, warnings), body: css, warnings, drift: lost };
    const state = whole.length ? silent(wrapper) : "shell";
    return { ...nothing, state, header: headerOf(wrapper), placement: placementOf(wrapper, around), warnings };
  }

  // Selectors that find something in every answer, and nothing or too much in this one.
  const READ = ["answer_body", "answer_card", "answer_titles"];

  function missing(wrapper) {
    const few = (count, most) => count > 0 && (most === null || count <= most);
    const there = ({ part, css, most }) =>
      part === "answer_wrapper" ? few(dom.select(document, css).length, most) : isMarked(wrapper, css);
    const asked = ({ part, when }) => (READ.includes(part) || part === "answer_wrapper") && (!when || isMarked(wrapper, when));
    return spec.expected.filter((each) => asked(each) && !there(each)).map(({ part, css }) => [part, css]);
  }

  function read(wrapper, bodies, around, warnings) {
    const { text, chips } = prose.write(bodies);
    const marks = Object.fromEntries(plan.markers.map(({ name, css }) => [name, isMarked(wrapper, css)]));
    const done = settles(marks);
    const still = done || dom.readyOf(document) === "complete";
    const state = still && !isLoading(wrapper) ? "settled" : "growing";
    const shown = prose.shown(bodies);
    const held = collapse(text).length;
    if (held < 0.8 * shown) warnings.push(`the text holds ${held} of about ${shown} characters of prose that the page shows`);
    const raw = bodies.map(textOf).join("\n");
    return {
      state,
      settled_by: state === "settled" && done ? "marker" : null,
      header: headerOf(wrapper),
      text,
      language: languageOf(bodies[0], wrapper),
      placement: placementOf(wrapper, around),
      ...sources.read(wrapper, bodies, chips),
      markers: marks,
      chars: raw.length,
      signature: hash(raw),
    };
  }

  // Recorded, never matched: it comes in every language, and in two wordings of one (zbarnz#8, #18).
  function headerOf(wrapper) {
    for (const css of part("header")) {
      for (const each of within(wrapper, css)) {
        const title = isShown(each, wrapper) ? dom.textIn(each) : "";
        if (title) return title;
      }
    }
    return null;
  }

  function languageOf(body, wrapper) {
    for (const name of plan.language) {
      const marked = closest(body, `[${name}]`) || first(body, `[${name}]`) || closest(wrapper, `[${name}]`);
      const language = marked && attribute(marked, name);
      if (language) return language;
    }
    return null;
  }

  // inline: among the results, with something before it. side: in the column beside them.
  function placementOf(wrapper, around) {
    if (part("side").some((css) => closest(wrapper, css))) return "side";
    const area = around.find((each) => each !== wrapper && contains(each, wrapper));
    for (let each = wrapper; area && each !== area; each = parentOf(each)) {
      for (let before = dom.previousOf(each); before; before = dom.previousOf(before)) {
        if (dom.displayed(before) && dom.says(dom.textIn(before))) return "inline";
      }
    }
    return "top";
  }

  // Where all wrappers mark one place, each lies in another or holds it, and one that is trusted is among them.
  function drift(found, whole) {
    if (!plan.one_place) return [];
    const warnings = [];
    const names = WRAPPER.filter((css, n) => found[n].length);
    if (!names.some((css) => plan.trusted.includes(css))) {
      warnings.push(`the AI answer was found by ${names.join(" and ")} alone; ${plan.trusted.join(" and ")} found nothing`);
    }
    if (whole.some((one) => whole.some((other) => !contains(one, other) && !contains(other, one)))) {
      warnings.push(`hooks of the AI answer mark different places: ${names.join(", ")}`);
    }
    return warnings;
  }

  const busy = () => at !== null && isLoading(at.wrapper);
  const stands = () => at !== null && !at.shell && connected(at.wrapper);
  const html = () => (stands() ? dom.outerOf(at.wrapper) : "");

  function place() {
    const css = stands() ? WRAPPER.find((each) => is(at.wrapper, each)) : undefined;
    return css === undefined ? null : { css, n: [...dom.select(document, css)].indexOf(at.wrapper) };
  }

  return { probe, busy, html, place, where: () => where(areas()), answer };
})
