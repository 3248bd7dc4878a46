// Sorts, searches and saves tables, shows numbers of charts, browses the matrix. The page is complete without it.
"use strict";
(() => {
  const all = (query, root = document) => [...root.querySelectorAll(query)];

  const make = (name, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  };

  const data = (name) => {
    const block = document.getElementById(`data-${name}`);
    return block && JSON.parse(block.textContent);
  };

  // -- tables ---------------------------------------------------------------------------------------------------

  const numberIn = (text) => {
    const found = text.replaceAll("−", "-").replaceAll(",", "").match(/-?\d+(\.\d+)?/);
    return found ? Number(found[0]) : null;
  };

  const compare = (words) => (a, b) => {
    if (words) return a.localeCompare(b, undefined, { numeric: true });
    const [x, y] = [numberIn(a), numberIn(b)];
    return x === null || y === null ? (x === null) - (y === null) : x - y;
  };

  const sortBy = (table, column, descending) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const text = (row) => row.cells[column].textContent.trim();
    const order = compare(heads[column].classList.contains("w"));
    const missing = (row) => text(row) === "–";
    const rows = [...body.rows].sort((a, b) => a.place - b.place);
    rows.sort((a, b) => missing(a) - missing(b) || (descending ? -1 : 1) * order(text(a), text(b)));
    body.append(...rows);
    heads.forEach((head, i) => {
      if (i === column) head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };

  const makeSortable = (table) => {
    [...table.tBodies[0].rows].forEach((row, place) => { row.place = place; });
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button", className: "sort" }, ...head.childNodes);
      button.addEventListener("click", () => {
        sortBy(table, column, head.getAttribute("aria-sort") === "ascending");
      });
      head.append(button);
    });
  };

  const makeSearchable = (table, tools) => {
    const rows = [...table.tBodies[0].rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const count = make("span", { className: "count" });
    count.setAttribute("aria-live", "polite");
    const box = make("input", { type: "search", placeholder: "Search" });
    box.setAttribute("aria-label", `Search: ${table.caption.textContent}`);
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every((word) => texts[i].includes(word));
        shown += !row.hidden;
      });
      count.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    });
    tools.append(box, count);
  };

  const save = (name, text) => {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" })) });
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  for (const holder of all(".table")) {
    const table = holder.querySelector("table");
    const tools = make("div", { className: "tools" });
    if (table.tBodies[0].rows.length > 1) makeSortable(table);
    if ("search" in holder.dataset) makeSearchable(table, tools);
    const file = holder.dataset.file;
    if (file) {
      const button = make("button", { type: "button", className: "save" }, "Download CSV");
      button.setAttribute("aria-label", `Download ${file}`);
      button.addEventListener("click", () => save(file, data(file)));
      tools.append(button);
    }
    if (tools.children.length) holder.prepend(tools);
  }

  // -- charts: a pointer or the arrow keys show the numbers of a row -----------------------------------------------

  for (const figure of all("figure:has(.tip)")) {
    const chart = figure.querySelector(".chart");
    const tip = figure.querySelector(".tip");
    const marks = all(".mark", chart);
    const hint = "Point at a row, or press the arrow keys here, for its numbers.";
    let at = -1;
    const show = (place) => {
      marks.forEach((mark, i) => mark.classList.toggle("lit", i === place));
      at = place;
      tip.textContent = place < 0 ? hint : marks[place].querySelector("title").textContent;
    };
    show(-1);
    chart.addEventListener("keydown", (event) => {
      const last = marks.length - 1;
      const next = {
        ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last, Escape: -1,
      }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      show(next);
    });
    chart.addEventListener("blur", () => show(-1));
    marks.forEach((mark, i) => mark.addEventListener("pointerenter", () => show(i)));
  }

  // -- the matrix -------------------------------------------------------------------------------------------------

  const matrix = document.querySelector(".wins");
  if (!matrix) return;
  const heat = matrix.querySelector(".heat");
  const caption = matrix.querySelector(".tip");
  const nameOf = (head) => head.lastChild.textContent.trim();

  const isCell = (cell) => cell && cell.tagName === "TD" && cell.closest("tbody") && cell.textContent;
  const showCell = (cell) => {
    all(".at", heat).forEach((other) => other.classList.remove("at"));
    cell.classList.add("at");
    if (!isCell(cell)) return;
    const column = heat.tHead.rows[0].cells[cell.cellIndex];
    caption.textContent = `${nameOf(cell.parentNode.cells[0])} beats ${nameOf(column)}: ${cell.textContent} %`;
  };
  caption.textContent = "Point at a cell, or press the arrow keys in the table, to read it as a sentence.";
  heat.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("td");
    if (isCell(cell)) showCell(cell);
  });
  heat.parentNode.addEventListener("keydown", (event) => {
    const move = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    if (!move) return;
    event.preventDefault();
    const { rows } = heat.tBodies[0];
    const now = heat.querySelector(".at");
    const [row, column] = now ? [now.parentNode.sectionRowIndex + move[0], now.cellIndex + move[1]] : [0, 2];
    const next = rows[row] && column > 0 && rows[row].cells[column];
    if (!next) return;
    showCell(next);
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  const known = data("wins");
  if (!known) return;
  const { names, odds } = known;
  const size = Number(matrix.dataset.shown);

  const around = (place) => {
    const begin = Math.max(0, Math.min(place - Math.floor(size / 2), names.length - size));
    return Array.from({ length: Math.min(size, names.length) }, (_, i) => begin + i);
  };

  const rowHead = (place) => {
    const head = make("th", { scope: "row", title: names[place] });
    head.append(make("span", { className: "place" }, String(place + 1)), names[place]);
    return head;
  };

  const columnHead = (place) => {
    const head = make("th", { scope: "col" }, String(place + 1));
    head.append(make("span", { className: "unseen" }, ` ${names[place]}`));
    return head;
  };

  const cell = (row, column) => {
    if (row === column) return make("td");
    const chance = 1 / (1 + Math.exp(odds[column] - odds[row]));
    const text = Math.min(Math.max(Math.round(100 * chance), 1), 99);
    return make("td", { className: `h${Math.round(10 * chance)}` }, String(text));
  };

  const draw = (rows, columns) => {
    const corner = make("td", {}, make("span", { className: "unseen" }, "row beats column"));
    heat.tHead.rows[0].replaceChildren(corner, ...columns.map(columnHead));
    heat.tBodies[0].replaceChildren(
      ...rows.map((row) => make("tr", {}, rowHead(row), ...columns.map((column) => cell(row, column)))),
    );
  };

  const list = make("datalist", { id: "names" }, ...names.map((value) => make("option", { value })));
  const place = new Map(names.map((name, i) => [name, i]).reverse());
  const chosen = {};
  const chooser = (what) => {
    const box = make("input", { type: "search", placeholder: "name of an item" });
    box.setAttribute("list", "names");
    box.addEventListener("input", () => {
      const found = place.get(box.value.trim());
      if (found === undefined && box.value.trim()) return;
      chosen[what] = found;
      const [rows, columns] = [around(chosen.rows ?? 0), around(chosen.columns ?? 0)];
      draw(rows, columns);
      const heads = [
        heat.tBodies[0].rows[rows.indexOf(chosen.rows)]?.cells[0],
        heat.tHead.rows[0].cells[columns.indexOf(chosen.columns) + 1 || -1],
      ];
      heads.forEach((head) => head?.classList.add("found"));
    });
    return make("label", {}, `${what === "rows" ? "Rows" : "Columns"} around `, box);
  };
  matrix.prepend(make("div", { className: "tools" }, chooser("rows"), chooser("columns"), list));
})();
