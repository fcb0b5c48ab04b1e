// Tables that can be sorted and filtered. What this script adds is not there without it.
(() => {
  'use strict';
  const collator = new Intl.Collator(undefined, {numeric: true, sensitivity: 'base'});

  // A number, a text, or null for what is not known, which always comes last.
  const keyOf = (cell) => {
    const given = cell.dataset.sort;
    if (given !== undefined) return Number(given);
    const text = cell.textContent.trim();
    return text === '' || text === '-' ? null : text;
  };

  const compare = (one, other) => {
    if (typeof one === 'number' && typeof other === 'number') return one - other;
    if (typeof one === 'number') return -1;
    if (typeof other === 'number') return 1;
    return collator.compare(one, other);
  };

  const sortRows = (body, column, descends) => {
    const keyed = Array.from(body.rows, (row) => ({row, key: keyOf(row.cells[column])}));
    keyed.sort((one, other) => {
      if (one.key === null || other.key === null) return (one.key === null) - (other.key === null);
      return descends ? compare(other.key, one.key) : compare(one.key, other.key);
    });
    const sorted = document.createDocumentFragment();
    for (const {row} of keyed) sorted.append(row);
    body.append(sorted);
  };

  const makeSortable = (table) => {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute('aria-sort', 'none');
      button.addEventListener('click', () => {
        // Of figures the largest is looked for first.
        const first = head.classList.contains('number') ? 'descending' : 'ascending';
        const second = first === 'descending' ? 'ascending' : 'descending';
        const order = head.getAttribute('aria-sort') === first ? second : first;
        for (const other of heads) other.setAttribute('aria-sort', 'none');
        head.setAttribute('aria-sort', order);
        sortRows(table.tBodies[0], column, order === 'descending');
      });
    });
  };

  const makeFilterable = (table, box) => {
    const rows = Array.from(table.tBodies[0].rows);
    if (rows.length < 4) return;
    if (rows.length > 30) box.classList.add('tall');
    const texts = new Map();
    const filter = document.createElement('div');
    filter.className = 'filter';
    const label = document.createElement('label');
    const input = document.createElement('input');
    const told = document.createElement('output');
    input.type = 'search';
    input.id = `filter-${table.closest('section').id}`;
    input.placeholder = 'words in a row, such as: ddp failed';
    label.htmlFor = input.id;
    label.textContent = 'Show rows with';
    told.setAttribute('aria-live', 'polite');
    filter.append(label, input, told);
    box.before(filter);
    const textOf = (row) => {
      if (!texts.has(row)) {
        const cells = Array.from(row.cells, (cell) => cell.textContent);
        texts.set(row, cells.join(' ').toLowerCase());
      }
      return texts.get(row);
    };
    input.addEventListener('input', () => {
      const words = input.value.toLowerCase().split(/\s+/).filter((word) => word !== '');
      let shown = 0;
      for (const row of rows) {
        row.hidden = !words.every((word) => textOf(row).includes(word));
        if (!row.hidden) shown += 1;
      }
      told.textContent = words.length === 0 ? '' : `${shown} of ${rows.length} rows`;
    });
  };

  for (const table of document.querySelectorAll('table.sortable')) {
    makeSortable(table);
    makeFilterable(table, table.parentElement);
  }
  performance.mark('tables-ready');
})();
