// What each hook finds on the page as it stands: how much of it is where it belongs, and whether the hooks of one part
// mark the same place. It knows no engine and judges nothing (castlenb/selectors/judge.py does). It only reads.
//
// hooks: [{part, css, kind, in_answer, when, place: {inside, outside, holds, holds_no, together}}]; the lists name parts.
// Returns {reading, answer, hooks: [{found, placed, asked, why, where, sample, agrees, apart}]}; `found` is null of what
// can not be seen on a page.
(function (spec, dom, reader, answers) {
  const { contains, closest, attribute, parentOf, is, collapse, textOf, first, within } = dom;
  const { parts } = spec;
  const SAMPLE = 80;
  const TELLING = ["heading", "area", "row"]; // parts that the places of others are told by
  const css = (names) => names.flatMap((name) => parts[name]).join(", ");
  const AREA = css(["area"]);
  const ALIKE = css(["answer_alike"]);

  // ---- what each finds --------------------------------------------------------------------------------------------

  // The outermost of the answer's wrappers: hooks that stand on its edge are looked for there as well.
  function wrapperOf({ whole, wrapper }) {
    if (!wrapper) return null;
    return whole.reduce((outer, each) => (contains(each, outer) ? each : outer), wrapper);
  }

  function hitsOf(hook, wrapper) {
    if (hook.in_answer) {
      if (!wrapper) return [];
      return [...(is(wrapper, hook.css) ? [wrapper] : []), ...within(wrapper, hook.css)].filter((each) => !alike(each));
    }
    return [...dom.select(document, hook.css)];
  }

  const alike = (element) => ALIKE !== "" && closest(element, ALIKE) !== null;

  const nested = (a, b) => contains(a, b) || contains(b, a);

  // ---- where it is ------------------------------------------------------------------------------------------------

  // As the reader has it: what holds the results area is no furniture.
  function liesIn(element, names, areas) {
    const all = css(names);
    for (let region = all && closest(element, all); region; ) {
      const around = region;
      if (around !== element && !areas.some((area) => contains(around, area))) return true;
      const above = parentOf(region);
      region = above && closest(above, all);
    }
    return false;
  }

  // The first of its rules that a hit breaks; null where it breaks none. A rule about what is not on the page is void.
  function broken(element, place, known) {
    const inside = css(place.inside);
    if (inside && dom.find(document, inside) && !closest(element, inside)) return "inside";
    if (place.outside.length && liesIn(element, place.outside, known.areas)) return "outside";
    const holds = (name) => known.placed[name].some((each) => contains(element, each));
    if (place.holds.some((name) => known.placed[name]?.length && !holds(name))) return "holds";
    return place.holds_no.some((name) => known.placed[name]?.length && holds(name)) ? "holds_no" : null;
  }

  const lead = (heading) => closest(heading, "a[href]") || first(heading, "a[href]");

  // What is found as a results area, but for what lies apart from the one that holds the most titles: an id can be given
  // to another block.
  function areasAround(titles) {
    const found = AREA ? [...dom.select(document, AREA)] : [];
    const count = (area) => titles.filter((each) => contains(area, each)).length;
    const fullest = found.reduce((best, each) => (best && count(best) >= count(each) ? best : each), null);
    return found.filter((each) => nested(each, fullest));
  }

  // Headings first, since areas and rows are told by them, and then those, since other things are told by those.
  function placed(hooks, hits) {
    const titles = hooks.flatMap(({ part }, n) => (part === "heading" ? hits[n].filter(lead) : []));
    const known = { areas: areasAround(titles), placed: {} };
    const reasons = new Map();
    const judge = (name) => {
      known.placed[name] = [];
      hooks.forEach((hook, n) => {
        if (hook.part !== name || !hits[n]) return;
        reasons.set(n, hits[n].map((each) => broken(each, hook.place, known)));
        const good = hits[n].filter((each, at) => reasons.get(n)[at] === null && (name !== "heading" || lead(each)));
        known.placed[name].push(...good);
      });
    };
    for (const name of TELLING) judge(name);
    known.areas = known.placed.area.length ? known.placed.area : known.areas;
    for (const name of new Set(hooks.map((hook) => hook.part))) if (!TELLING.includes(name)) judge(name);
    return { reasons, known };
  }

  // Of the other hooks of its part those that mark its place, and those that mark another.
  function company(n, hooks, good) {
    const agrees = [];
    const apart = [];
    hooks.forEach((other, m) => {
      if (m === n || other.part !== hooks[n].part || !good[m]?.length || !good[n].length) return;
      const same = good[n].some((each) => good[m].some((its) => nested(each, its)));
      (same ? agrees : apart).push(other.css);
    });
    return { agrees, apart };
  }

  // ---- what a person is shown -------------------------------------------------------------------------------------

  function sampleOf(element) {
    let text = "";
    const walker = dom.texts(element);
    while (text.length < SAMPLE && walker.nextNode()) {
      if (!dom.SILENT.has(dom.nameOf(parentOf(walker.currentNode)))) text = collapse(`${text} ${textOf(walker.currentNode)}`);
    }
    return text.slice(0, SAMPLE);
  }

  function whereIs(element) {
    for (let above = parentOf(element); above; above = parentOf(above)) {
      const id = attribute(above, "id");
      if (id) return `#${id}`;
    }
    return "";
  }

  // Of what is found what a reader takes. In the results the first in each row, and titles with a mark where any has one;
  // where rows are not marked, one goes from its title to the next. Of an answer the prose alone, and the first of what
  // says something of the whole.
  const OF_A_ROW = ["heading", "mark", "snippet", "date", "cite"];
  const ONE = ["answer_header", "answer_marker"];
  const MARK = css(["mark"]);

  function taken(part, good, { placed: { row = [], heading = [] } }, bodies) {
    if (ONE.includes(part)) return good.slice(0, 1);
    if (part === "answer_body") {
      const prose = good.filter((each) => bodies.some((body) => nested(body, each)));
      return prose.length ? prose : good;
    }
    if (!OF_A_ROW.includes(part)) return good;
    if (!row.length && part === "heading") {
      const marked = good.filter((each) => MARK && (closest(each, MARK) || first(lead(each), MARK)));
      return marked.length ? marked : good;
    }
    const ends = [...(row.length ? row : heading)].sort(dom.before);
    const rowOf = (element) =>
      row.length
        ? ends.find((each) => contains(each, element))
        : ends.findLast((each) => contains(each, element) || dom.before(each, element) < 0);
    const firsts = new Map();
    for (const each of [...good].sort(dom.before)) {
      const own = rowOf(each);
      if (own && !firsts.has(own)) firsts.set(own, each);
    }
    return [...firsts.values()];
  }

  // The page as these hooks see it: what each finds, what of it is where it belongs, and why the rest is not.
  // With `only`, of that one hook, and of what the places of others are told by.
  function look(hooks, only = null) {
    const asked = (hook, n) => hook.kind !== "address" && (only === null || n === only || TELLING.includes(hook.part));
    const answer = only === null || hooks[only].in_answer ? answers.where() : null;
    const wrapper = answer && wrapperOf(answer);
    const bodies = answer ? answer.bodies : [];
    const hits = hooks.map((hook, n) => (asked(hook, n) ? hitsOf(hook, wrapper) : null));
    const { reasons, known } = placed(hooks, hits);
    const fit = (n, each, at) => reasons.get(n)[at] === null && (hooks[n].part !== "heading" || lead(each));
    const good = hooks.map((_, n) => hits[n]?.filter((each, at) => fit(n, each, at)) || []);
    // What another selector would find in the hook's place, and what of it is where it belongs; nothing is, where it
    // finds more than `most`.
    const instead = (hook, other, most = Infinity) => {
      const found = hitsOf({ ...hook, css: other }, wrapper);
      const fits = (each) => broken(each, hook.place, known) === null && (hook.part !== "heading" || lead(each));
      const good = found.length > most ? [] : taken(hook.part, found.filter(fits), known, bodies);
      return { found, good };
    };
    const taking = hooks.map(({ part }, n) => taken(part, good[n], known, bodies));
    return { wrapper, hits, good, taking, reasons, known, instead };
  }

  function check(hooks) {
    const { wrapper, hits, good, reasons } = look(hooks);
    const isThere = ({ when, in_answer }) =>
      in_answer
        ? wrapper !== null && (is(wrapper, when) || first(wrapper, when) !== null)
        : dom.find(document, when) !== null;
    return hooks.map((hook, n) => {
      if (hook.part === "refusal" && hook.kind === "address") {
        const here = Number(new RegExp(hook.css).test(location.host + location.pathname));
        return { found: here, placed: here, asked: true, why: null, where: "", sample: "", agrees: [], apart: [] };
      }
      const shown = good[n][0] || hits[n]?.[0];
      return {
        found: hits[n] && hits[n].length,
        placed: good[n].length,
        asked: !hook.when || isThere(hook),
        why: reasons.get(n)?.find((why) => why !== null) || null,
        where: shown ? whereIs(shown) : "",
        sample: shown ? sampleOf(shown) : "",
        ...company(n, hooks, good),
      };
    });
  }

  return { check: (hooks) => ({ reading: reader.read(), answer: answers.answer(), hooks: check(hooks) }), look };
})
