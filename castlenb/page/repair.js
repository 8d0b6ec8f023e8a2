// Other selectors for what a hook finds, or is taken to have found: those that find just that on this page, the durable
// ones first. It only reads.
//
//   describe(n)        for the nth hook [[css, rank]]: by what it finds; where it finds nothing, by where the other hooks
//                      say that it has to be. Ranks: 0 an id, 1 attributes, 2 place in the structure, 3 class names
//   attempt(n, list)   for each of these selectors [found, placed, right]: how much it finds in the hook's place, how
//                      much of it is where it belongs, and whether it is what the hook finds; null where that is nothing
(function (dom, checker, hooks) {
  const { contains, closest, attribute, parentOf, nameOf, textOf, firstOf, nextOf, kindOf, is } = dom;
  const ABOVE = 4; // how far up a place in the structure is told from
  const MOST = 40; // proposals for one hook
  const FEATURES = 6; // of one element that are tried
  const NEVER = new Set("id class style href src srcset alt title value ping lang dir width height".split(" "));
  const SPEAKING = /^(?:h[1-6]|cite|article|main|aside|section|nav|ol|ul|table|header|footer|.+-.+)$/;

  const seen = checker.look(hooks);

  // ---- features of one element ------------------------------------------------------------------------------------

  const quoted = (value) => `"${value.replace(/["\\]/g, "\\$&")}"`;

  // Made anew for each page, by the look of it: digits among letters, capitals in the midst, long strings without a word.
  function looksRandom(text) {
    if (text.length > 40 || /\d{3}/.test(text) || /[A-Za-z]\d+[A-Za-z]|^_/.test(text)) return true;
    return text.length > 7 && /[a-z][A-Z]/.test(text) && !/^[a-z]+(?:[A-Z][a-z]+)+$/.test(text);
  }
  // A short jumble of cases, as class names come from a build: "yuRUbf", "MjjYud"; words have at most capitals in front.
  const looksGenerated = (name) =>
    looksRandom(name) || /[a-z][A-Z]/.test(name) || /\d/.test(name) || !/[aeiou]/i.test(name) || name.length < 4 || /^svelte-/.test(name);

  // What the hook itself holds on to is what has gone.
  function tokensOf(css) {
    const bare = css.replace(/"[^"]*"|'[^']*'/g, "_");
    const found = {
      ids: new Set([...bare.matchAll(/#([\w-]+)/g)].map((each) => each[1])),
      classes: new Set([...bare.matchAll(/\.([A-Za-z_][\w-]*)/g)].map((each) => each[1])),
      names: new Set([...bare.matchAll(/\[([\w-]+)/g)].map((each) => each[1]).filter((name) => name !== "href")),
      tags: new Set(),
    };
    if (found.ids.size + found.classes.size + found.names.size) return found;
    const tags = [...bare.replace(/\[[^\]]*\]|[.#:][\w-]+/g, " ").matchAll(/[a-z][\w-]*/g)].map((each) => each[0]);
    return { ...found, tags: new Set(tags.filter((tag) => tag !== "a")) };
  }

  function featuresOf(element, gone) {
    const found = [];
    const id = attribute(element, "id");
    if (id && !looksRandom(id) && !gone.ids.has(id) && /^[\w-]+$/.test(id)) found.push([`#${id}`, 0]);
    for (const name of Element.prototype.getAttributeNames.call(element)) {
      if (NEVER.has(name) || gone.names.has(name) || !/^[\w-]+$/.test(name)) continue;
      const value = attribute(element, name);
      if (value && !/[\n\r\f]/.test(value) && !looksRandom(value)) found.push([`[${name}=${quoted(value)}]`, 1]);
      found.push([`[${name}]`, 1]);
    }
    const tag = nameOf(element);
    if (!gone.tags.has(tag) && SPEAKING.test(tag)) found.push([tag, 2]);
    for (const name of (attribute(element, "class") || "").split(/\s+/)) {
      if (name && !looksGenerated(name) && !gone.classes.has(name) && /^[\w-]+$/.test(name)) found.push([`.${name}`, 3]);
    }
    return found.sort((a, b) => a[1] - b[1] || a[0].length - b[0].length);
  }

  // Those that all of them have.
  function shared(elements, gone) {
    const few = elements.length > 12 ? elements.slice(0, 12) : elements;
    return featuresOf(few[0], gone)
      .filter(([css]) => elements.every((each) => is(each, css)))
      .slice(0, FEATURES);
  }

  // ---- selectors for a set of elements ----------------------------------------------------------------------------

  const childrenOf = (element) => {
    const found = [];
    for (let child = firstOf(element); child; child = nextOf(child)) {
      if (kindOf(child) === Node.ELEMENT_NODE) found.push(child);
    }
    return found;
  };

  const together = (elements, step) => {
    const moved = elements.map(step);
    return moved.every(Boolean) ? [...new Set(moved)] : null;
  };

  function* selectors(targets, gone) {
    const own = shared(targets, gone);
    for (const [css, rank] of own) yield [css, rank];
    for (const [a, rank] of own) for (const [b, other] of own) {
      if (a < b && /^\[/.test(a) && /^\[/.test(b)) yield [a + b, Math.max(rank, other)];
    }
    const tag = nameOf(targets[0]);
    const plain = targets.every((each) => nameOf(each) === tag) && !gone.tags.has(tag) ? tag : "*";
    const nth = childrenOf(parentOf(targets[0]) || targets[0]).indexOf(targets[0]);
    const places = [[plain, 2], [`${plain}:first-child`, 2], [`${plain}:last-child`, 2]];
    if (nth > 0 && nth < 6) places.push([`${plain}:nth-child(${nth + 1})`, 2]);
    const ends = [...own, ...places];
    let above = targets;
    let between = "";
    for (let level = 1; level <= ABOVE; level++) {
      above = together(above, parentOf);
      if (!above) break;
      for (const [css, rank] of shared(above, gone)) {
        const worst = (other) => Math.max(2, rank, other);
        for (const [end, other] of ends) yield [`${css} > ${between}${end}`, worst(other)];
        for (const [end, other] of own) yield [`${css} ${end}`, worst(other)];
      }
      between = `* > ${between}`;
    }
    const inner = together(targets, (each) => childrenOf(each)[0]);
    if (inner) for (const [css, rank] of shared(inner, gone)) yield [`${plain}:has(> ${css})`, Math.max(2, rank)];
    for (const [css, rank] of below(targets, gone)) {
      yield [`${plain}:has(> ${css})`, Math.max(2, rank)];
      yield [`${plain}:has(> * > ${css})`, Math.max(2, rank)];
      for (const [mine, other] of own) yield [`${mine}:has(${css})`, Math.max(2, rank, other)];
    }
    for (const [level, step] of [[0, (each) => each], [1, parentOf]]) {
      const before = together(targets, (each) => step(each) && dom.previousOf(step(each)));
      for (const [css, rank] of before ? shared(before, gone) : []) for (const [end, other] of ends) {
        yield [`${css} + ${level ? "* > " : ""}${end}`, Math.max(2, rank, other)];
      }
    }
  }

  // What their children, and those' children, have: the first of the targets tells, `right` asks the others.
  function below(targets, gone) {
    const near = childrenOf(targets[0]).slice(0, 8);
    const nearer = near.flatMap((each) => childrenOf(each).slice(0, 4));
    const found = [...near, ...nearer].flatMap((each) => featuresOf(each, gone).slice(0, 2));
    return [...new Map(found.map((each) => [each[0], each])).values()].slice(0, 12);
  }

  // ---- what a missing hook has to have found ----------------------------------------------------------------------

  const titles = () => hooks.flatMap(({ part }, n) => (part === "heading" ? seen.good[n] : []));
  const well = (part) => hooks.flatMap((hook, n) => (hook.part === part ? seen.good[n] : []));

  function around(elements) {
    let box = elements[0];
    while (box && !elements.every((each) => contains(box, each))) box = parentOf(box);
    return box && elements.length === 1 ? parentOf(box) : box;
  }

  // The first child with words of each link that an address stands in or beside: what a title is.
  function titlesByLinks() {
    const links = new Set([...well("cite"), ...well("mark")].map((each) => closest(each, "a[href]") || dom.first(each, "a[href]")));
    const found = [...links].filter(Boolean).map((link) => childrenOf(link).find((each) => dom.says(textOf(each))));
    return found.filter((each) => each && seen.known.areas.some((area) => contains(area, each)));
  }

  function estimate({ part }) {
    if (part === "area" || part === "scope") return titles().length > 1 ? [around(titles())] : [];
    if (part === "heading") return titlesByLinks();
    if (part === "answer_wrapper") {
      let box = seen.wrapper;
      const ends = (each) => !each || seen.known.areas.some((area) => contains(each, area)) || is(each, "body");
      while (box && !ends(parentOf(box)) && childrenOf(parentOf(box)).length === 1) box = parentOf(box);
      return box ? [box] : [];
    }
    if (part === "answer_body") return well("answer_body").slice(0, 1);
    return [];
  }

  // ---- what it is asked -------------------------------------------------------------------------------------------

  const same = (some, others) => some.length === others.length && some.every((each) => others.includes(each));

  function describe(n) {
    const hook = hooks[n];
    const targets = seen.taking[n].length ? seen.taking[n] : estimate(hook);
    if (!targets.length || !targets[0]) return [];
    const gone = tokensOf(hook.css);
    const found = new Map();
    for (const [css, rank] of selectors(targets, gone)) {
      if (found.size >= MOST) break;
      if (found.has(css) || css === hook.css) continue;
      const { good } = seen.instead(hook, css, 4 * targets.length + 40);
      if (same(good, targets)) found.set(css, rank);
    }
    return [...found];
  }

  const attempt = (n, list) =>
    list.map((css) => {
      const { found, good } = seen.instead(hooks[n], css);
      return [found.length, good.length, seen.taking[n].length ? same(good, seen.taking[n]) : null];
    });

  return { describe, attempt, seen };
})
