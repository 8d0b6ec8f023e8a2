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
    const before = ["heading", "area", "row"];
    for (const name of before) judge(name);
    known.areas = known.placed.area.length ? known.placed.area : known.areas;
    for (const name of new Set(hooks.map((hook) => hook.part))) if (!before.includes(name)) judge(name);
    return reasons;
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

  function check(hooks) {
    const place = answers.where();
    const wrapper = wrapperOf(place);
    const seen = hooks.map(({ kind }) => kind !== "address");
    const hits = hooks.map((hook, n) => (seen[n] ? hitsOf(hook, wrapper) : null));
    const reasons = placed(hooks, hits);
    const good = hooks.map((_, n) => hits[n]?.filter((_each, at) => reasons.get(n)[at] === null) || []);
    const isThere = ({ when, in_answer }) =>
      in_answer ? wrapper !== null && (is(wrapper, when) || first(wrapper, when) !== null) : dom.find(document, when) !== null;
    return hooks.map((hook, n) => {
      if (hook.part === "refusal" && !seen[n]) {
        const here = new RegExp(hook.css).test(location.host + location.pathname);
        return { found: Number(here), placed: Number(here), asked: true, why: null, where: "", sample: "", agrees: [], apart: [] };
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

  return {
    check(hooks) {
      return { reading: reader.read(), answer: answers.answer(), hooks: check(hooks) };
    },
    hits: (hooks) => {
      const wrapper = wrapperOf(answers.where());
      return hooks.map((hook) => (hook.kind === "address" ? [] : hitsOf(hook, wrapper)));
    },
  };
})
