// The prose of a region as Markdown-like plain text: paragraphs, headings, nested lists, tables, code. A walk over the
// live nodes: a detached copy has no layout, so its line breaks vanish and what the page hides leads the text.
//
//   write(roots)    {text, chips}: the text, and each citation mark with the words it stands after
//   speaks(root)    whether there is any prose yet; stops at the first word
//   mentions(root)  the same without asking for styles: hidden words count
//   shown(roots)    how many characters of prose the page shows there, counted without the rules of `write`
(function (spec, dom, document) {
  const { parentOf, firstOf, nextOf, kindOf, textOf, nameOf, contains, matches, closest, attribute, first, within } = dom;
  const { says, collapse, is } = dom;

  const SKIP = spec.parts.answer_skip.join(", ");
  const KEEP = spec.parts.answer_keep.join(", ");
  const CHIP = spec.parts.answer_chip.join(", ");
  const FORMULA_SOURCE = spec.answer?.formula;

  const SILENT = new Set(
    ("script style noscript template svg select textarea input iframe canvas video audio object embed dialog " +
      "annotation annotation-xml figcaption").split(" "),
  );
  // Roles of what lies over a page or steers it. `aria-hidden` says nothing of the kind: folded prose bears it.
  const ROLES = new Set("dialog alertdialog tooltip menu menubar listbox combobox progressbar tablist toolbar".split(" "));
  const HEADING = /^h[1-6]$/;
  const FLOW = new Set("p li td th dt dd strong b em i mark code cite q blockquote".split(" "));
  const STRUCTURE = "p, li, table, pre, h1, h2, h3, h4, h5, h6, [role=heading]";
  // A parser nests 512 deep, a script as deep as it likes; what lies deeper is taken as it stands.
  const DEEPEST = 600;
  const PHRASE = new Set("span a b strong i em mark code sub sup small u".split(" "));
  const INLINE = /^(?:inline|contents|ruby)/;

  const styleOf = (element) => getComputedStyle(element);
  const isBlock = (style) => !INLINE.test(style.display) && style.display !== "none";
  const isHeading = (element) => HEADING.test(nameOf(element)) || attribute(element, "role") === "heading";
  const isButton = (element) => nameOf(element) === "button" || attribute(element, "role") === "button";

  // Read out and never seen: clipped to a pixel. Not by size alone: what is folded away has none either.
  function isClipped(style) {
    if (style.position !== "absolute" && style.position !== "fixed") return false;
    const [top, right, bottom, left] = style.clip.slice(5).split(",").map(parseFloat);
    if (bottom - top <= 1 && right - left <= 1) return true;
    if (/^inset\((?:50|100)%/.test(style.clipPath)) return true;
    return style.overflow !== "visible" && parseFloat(style.width) <= 1 && parseFloat(style.height) <= 1;
  }

  // Whether a control carries words of the text: entity names can be buttons. It does where it stands in running text,
  // or holds a heading or words in bold; "Show all" stands alone.
  function flows(element) {
    if (first(element, "h1, h2, h3, h4, h5, h6, [role=heading], strong, b, mark")) return true;
    const own = collapse(textOf(element));
    for (let around = parentOf(element); around; around = parentOf(around)) {
      if (FLOW.has(nameOf(around)) || isHeading(around)) return true;
      const whole = collapse(textOf(around));
      const block = isBlock(styleOf(around));
      if (whole !== own) return !block || hasOwnWords(around);
      if (block) return false;
    }
    return false;
  }

  function hasOwnWords(element) {
    for (let child = firstOf(element); child; child = nextOf(child)) {
      if (kindOf(child) === Node.TEXT_NODE && says(textOf(child))) return true;
    }
    return false;
  }

  // A source's card: a link without words laid over its neighbours, which say what it leads to.
  function isCard(element) {
    if (hasOwnWords(element) || (CHIP && first(element, CHIP))) return false;
    for (let child = firstOf(element); child; child = nextOf(child)) {
      if (kindOf(child) !== Node.ELEMENT_NODE || nameOf(child) !== "a") continue;
      const labelled = attribute(child, "aria-label") !== null || attribute(child, "aria-labelledby") !== null;
      if (labelled && attribute(child, "href") !== null && !says(textOf(child))) return says(textOf(element));
    }
    return false;
  }

  // A card that is a link itself: a picture over lines of its own, such as a video's.
  function isMedia(element) {
    if (nameOf(element) !== "a" || !first(element, "img, video") || !says(textOf(element))) return false;
    return [...within(element, "div, p, figure, ul")].some((each) => says(textOf(each)) && isBlock(styleOf(each)));
  }

  // A formula drawn, beside the same as MathML.
  const formulas = dom.byTag(document, "math");
  const isDrawing = (element) =>
    formulas.length > 0 &&
    attribute(element, "aria-hidden") === "true" &&
    first(parentOf(element), "math") !== null &&
    first(element, "math") === null;

  // A formula of which there is nothing but its source; null where MathML in it, or beside its picture, says the same.
  function sourceOf(element) {
    const source = FORMULA_SOURCE ? attribute(element, FORMULA_SOURCE) : null;
    return source && !first(nameOf(element) === "img" ? parentOf(element) : element, "math") ? source : null;
  }

  // Digits raised over the text that lead somewhere: "¹".
  const isReference = (element) =>
    nameOf(element) === "sup" && first(element, "a, button") !== null && /^\W*\d{1,3}\W*$/.test(textOf(element));

  const isChip = (element) => is(element, CHIP) || isReference(element);

  const isBarred = (element) =>
    SILENT.has(nameOf(element)) || ROLES.has(attribute(element, "role")) || is(element, SKIP);

  function isSkipped(element, style) {
    if (isBarred(element)) return true;
    if (style.display === "none" || (isClipped(style) && !first(element, "math"))) return true;
    if (style.opacity === "0" && !says(textOf(element))) return true; // words fade in; a lone stop is for readers aloud
    if (is(element, KEEP)) return false;
    return (isButton(element) && !flows(element)) || isCard(element) || isMedia(element) || isDrawing(element);
  }

  // Visibility of its own; a whole column can be hidden until scripts have run.
  const isVeiled = (style, around) => style.visibility !== "visible" && around === "visible";

  // Whether there is a word of prose in it, as far as styles tell (`visibility` is that around it) or, without, as far as
  // the mark-up does.
  function holds(node, visibility, depth = 0) {
    if (depth > DEEPEST) return says(textOf(node));
    for (let child = firstOf(node); child; child = nextOf(child)) {
      const kind = kindOf(child);
      if (kind === Node.TEXT_NODE && says(textOf(child))) return true;
      if (kind !== Node.ELEMENT_NODE || isChip(child)) continue;
      if (visibility === null) {
        if (!isBarred(child) && !dom.hidden(child) && holds(child, null, depth + 1)) return true;
        continue;
      }
      const style = styleOf(child);
      if (isSkipped(child, style) || isVeiled(style, visibility)) continue;
      if (holds(child, style.visibility, depth + 1)) return true;
    }
    return false;
  }

  // What the mark-up rules out costs nothing; asking for a style makes the browser work out many.
  const mentions = (root) => holds(root, null);
  const speaks = (root) => mentions(root) && holds(root, styleOf(root).visibility);

  // ---- code: what stands around it in its box (a language, "Copy", a warning) is no prose --------------------------

  function codeBoxes(root) {
    const boxes = new Map();
    for (const pre of within(root, "pre")) {
      let box = pre;
      for (let above = pre; above !== root && above; above = parentOf(above)) {
        if (collapse(textOf(above)).length - collapse(textOf(pre)).length > 100) break;
        if (above !== pre && (isHeading(above) || holdsProse(above, pre))) break;
        const controls = [...within(above, "button, [role=button]")].filter((each) => !closest(each, CHIP || "_"));
        if (above !== pre && controls.some((each) => !contains(pre, each))) {
          box = above;
          break;
        }
      }
      boxes.set(box, pre);
    }
    return boxes;
  }

  const holdsProse = (box, pre) =>
    [...within(box, "p, li, pre, h1, h2, h3, h4, h5, h6, [role=heading]")].some(
      (each) => each !== pre && !contains(pre, each) && says(textOf(each)),
    );

  function codeIn(pre) {
    const codes = within(pre, "code");
    let text = "";
    const walk = (node, depth) => {
      if (depth > DEEPEST) return;
      for (let child = firstOf(node); child; child = nextOf(child)) {
        if (kindOf(child) === Node.TEXT_NODE) text += textOf(child);
        if (kindOf(child) !== Node.ELEMENT_NODE || SILENT.has(nameOf(child)) || isButton(child)) continue;
        if (nameOf(child) === "br") text += "\n";
        walk(child, depth + 1);
        if (!/(^|\n)$/.test(text) && isBlock(styleOf(child))) text += "\n";
      }
    };
    walk(codes.length === 1 ? codes[0] : pre, 0);
    return text.replace(/\u00a0/g, " ").replace(/[ \t]+$/gm, "").replace(/^\n+|\s+$/g, "");
  }

  // ---- formulas, on one line --------------------------------------------------------------------------------------

  const SPACED = /^[=≈≠≡<>≤≥+−×÷±→←↔⇒⇔⇌↦∈∝]$/;
  const grouped = (text) => (/^[\p{L}\p{N}.]*$/u.test(text) ? text : `(${text})`);

  const FORMULA = {
    semantics: (parts) => parts[0],
    annotation: () => "",
    "annotation-xml": () => "",
    mphantom: () => "",
    mspace: () => " ",
    msub: ([base, sub]) => base + below(sub),
    msup: ([base, sup]) => `${base}^${grouped(sup)}`,
    msubsup: ([base, sub, sup]) => `${base}${below(sub)}^${grouped(sup)}`,
    mfrac: ([over, under]) => `${grouped(over)}/${grouped(under)}`,
    msqrt: (parts) => `√${grouped(parts.join(""))}`,
    mroot: ([base, root]) => `${root}√${grouped(base)}`,
    mover: ([base, over]) => base + (says(over) ? `^${grouped(over)}` : ""),
    munder: ([base, under]) => base + (says(under) ? below(under) : ""),
    munderover: ([base, under, over]) => `${base}${below(under)}^${grouped(over)}`,
    mtr: (parts) => parts.join(", "),
    mtable: (parts) => parts.join("; "),
  };
  const below = (sub) => (/^\d+$/.test(sub) ? sub : `_${grouped(sub)}`);

  function formula(node, depth = 0) {
    if (depth > DEEPEST) return "";
    const children = [];
    for (let child = firstOf(node); child; child = nextOf(child)) {
      if (kindOf(child) === Node.ELEMENT_NODE) children.push(child);
    }
    const name = nameOf(node);
    if (!children.length && !FORMULA[name]) {
      const text = collapse(textOf(node));
      return name === "mo" && SPACED.test(text) ? ` ${text} ` : name === "mtext" ? textOf(node) : text;
    }
    const parts = children.map((child) => formula(child, depth + 1));
    return FORMULA[name] ? FORMULA[name](parts.map((part) => part || "")) || "" : parts.join("");
  }

  // ---- writing ----------------------------------------------------------------------------------------------------

  // One line of text: white space as a browser shows it, a <br> kept.
  const tidy = (text) => text.replace(/[^\S\n]+/g, " ").replace(/ ?\n ?/g, "\n").replace(/ +([.,])(?=\s|$)/g, "$1").trim();

  function write(roots) {
    const blocks = []; // {text, kind, quote, items}: the list items it belongs to, outermost first
    const chips = [];
    let line = "";
    let claimed = 0; // how much of the line stands before the last chip
    let claim = "";
    let items = [];
    let heading = 0;
    let quote = 0;
    let depth = 0;
    let flat = 0; // inside a box that stands in a line, where blocks break nothing
    let boxes = new Map();

    function end() {
      const text = tidy(line);
      line = "";
      claimed = 0;
      if (!says(text)) return;
      const mark = heading ? "#".repeat(Math.min(Math.max(heading, 2), 6)) + " " : "";
      put(mark + text.replace(/\n/g, heading ? " " : "\n"), heading && !items.length ? "heading" : "text");
    }

    const put = (text, kind) => blocks.push({ text, kind, quote, items: [...items] });

    // The words a chip stands after: those on its line since the last chip, else the last chip's, else the line before.
    function cite(element) {
      const since = tidy(line.slice(claimed));
      if (since) claim = since;
      else if (!tidy(line)) claim = (blocks.at(-1)?.text || "").replace(/^#+ /, "");
      claimed = line.length;
      chips.push({ element, text: claim });
    }

    function item(element, visibility) {
      const list = closest(parentOf(element), "ul, ol");
      const number = list && nameOf(list) === "ol" ? numberOf(element, list) : null;
      items.push({ mark: number === null ? "- " : `${number}. `, used: false });
      walk(element, visibility);
      end();
      items.pop();
    }

    function table(element) {
      const rows = [...within(element, "tr")].filter((row) => closest(row, "table") === element).map(cellsOf);
      const width = Math.max(0, ...rows.map((cells) => cells.length));
      if (rows.length < 2 || width < 2) return false;
      rows.forEach((cells, at) => {
        const read = cells.map(inOne);
        put(`| ${[...read, ...Array(width - cells.length).fill("")].join(" | ")} |`, "row");
        if (at === 0) put(`|${" --- |".repeat(width)}`, "row");
      });
      return true;
    }

    // A cell's text on one line.
    function inOne(cell) {
      const from = blocks.length;
      walk(cell, styleOf(cell).visibility);
      end();
      const text = blocks.splice(from).map((block) => block.text.replace(/\n/g, " "));
      return text.join(" ").replace(/\|/g, "\\|");
    }

    function enter(element, style) {
      const name = nameOf(element);
      if (boxes.has(element)) {
        end();
        const code = codeIn(boxes.get(element));
        if (code) put("```\n" + code + "\n```", "code");
        return;
      }
      if (name === "br") {
        line += flat ? " " : "\n";
        return;
      }
      const source = sourceOf(element);
      if (name === "math" || source) {
        line += (source ? source.replace(/\\(?=[$%#&_{}])/g, "") : formula(element)).replace(/\s+/g, " ");
        return;
      }
      const level = isHeading(element) ? levelOf(element) : 0;
      const placed = style.position === "absolute" && PHRASE.has(name); // which makes a block of what is none
      const block = level || name === "li" || (isBlock(style) && !placed);
      const part = () => (flat ? (line += " ") : end());
      if (block) part();
      if (name === "table" && !flat && table(element)) return;
      if (name === "li" && !flat) return item(element, style.visibility);
      const outer = heading;
      const box = /^inline-/.test(style.display) && !first(element, STRUCTURE) ? 1 : 0;
      heading = level || heading;
      quote += name === "blockquote" ? 1 : 0;
      flat += box;
      const from = line.length;
      walk(element, style.visibility);
      if (box) line = line.slice(0, from) + line.slice(from).trim();
      flat -= box;
      if (block) part();
      heading = outer;
      quote -= name === "blockquote" ? 1 : 0;
    }

    function walk(node, visibility) {
      if (depth > DEEPEST) {
        line += textOf(node);
        return;
      }
      depth += 1;
      for (let child = firstOf(node); child; child = nextOf(child)) {
        const kind = kindOf(child);
        if (kind === Node.TEXT_NODE) line += textOf(child).replace(/\s+/g, " ");
        if (kind !== Node.ELEMENT_NODE) continue;
        const style = styleOf(child);
        const veiled = style.display === "none" || isVeiled(style, visibility);
        if (isChip(child)) {
          if (!veiled) cite(child);
        } else if (!veiled && !isSkipped(child, style)) enter(child, style);
      }
      depth -= 1;
    }

    for (const root of roots) {
      boxes = codeBoxes(root);
      walk(root, styleOf(root).visibility);
      end();
    }
    return { text: joined(blocks), chips };
  }

  // Items of one list stand close; what belongs to an item is indented under it.
  function joined(blocks) {
    let text = "";
    let last = null;
    for (const block of blocks) {
      const close = last && ((block.kind === "row" && last.kind === "row") || (block.items.length && last.items.length));
      let indent = "";
      for (const each of block.items) {
        if (!each.used && each === block.items.at(-1)) indent += each.mark;
        else indent += " ".repeat(each.mark.length);
        each.used = true;
      }
      const mark = "> ".repeat(block.quote) + indent;
      const further = mark.replace(/[^>]/g, " ");
      const lines = block.text.split("\n").map((line, at) => (at ? further : mark) + line);
      text += (last ? (close ? "\n" : "\n\n") : "") + lines.join("\n");
      last = block;
    }
    return text;
  }

  const cellsOf = (row) => [...within(row, "td, th")].filter((cell) => closest(cell, "tr") === row);

  function levelOf(element) {
    const given = Number(attribute(element, "aria-level") || nameOf(element).slice(1));
    return given >= 1 && given <= 6 ? given : 3;
  }

  function numberOf(element, list) {
    const own = [...within(list, "li")].filter((each) => closest(parentOf(each), "ul, ol") === list);
    return (Number(attribute(list, "start")) || 1) + own.indexOf(element);
  }

  // ---- the other count --------------------------------------------------------------------------------------------

  function shown(roots) {
    const out = ["button", "[role=button]", ...SILENT, ...[...ROLES].map((role) => `[role=${role}]`)];
    const OUT = [...out, SKIP, CHIP].filter(Boolean).join(", ");
    let count = 0;
    for (const root of roots) {
      const walker = dom.texts(root);
      while (walker.nextNode()) {
        const text = collapse(textOf(walker.currentNode));
        const around = parentOf(walker.currentNode);
        const left = closest(around, OUT);
        if (!text || (left && contains(root, left)) || !dom.displayed(around)) continue;
        count += text.length + 1;
      }
    }
    return count;
  }

  return { write, speaks, mentions, shown, isMedia };
})
