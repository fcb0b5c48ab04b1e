// What series look like, the same on all charts: colours, marks, dashes, hatching, and the legends.
const looks = (() => {
  'use strict';
  const counts = {series: 8, part: 9};
  const marks = [['circle', 0], ['rect', 0], ['triangle', 0], ['rectRot', 0], ['triangle', 180]];
  const shapes = {plus: ['cross', 0], cross: ['crossRot', 0]};
  const dashes = [[], [8, 4], [2, 3], [8, 3, 2, 3], [14, 4], [8, 3, 2, 3, 2, 3]];
  const thinDashes = [[], [2, 3], [8, 3, 2, 3]];
  const hatchings = 5;

  const colours = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    for (const name of ['paper', 'ink', 'muted', 'line']) colours[name] = value(name);
    for (const [name, count] of Object.entries(counts)) {
      colours[name] = Array.from({length: count}, (_, at) => value(`${name}-${at + 1}`));
    }
  };

  const isThin = (series) => series.style === 'ideal' || series.style === 'reference';
  const isBar = (series) => series.style === 'stacked' || series.style === 'bars';

  // Bars are told apart by their hatching too.
  const hatched = (colour, kind) => {
    if (kind === 0) return colour;
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const pen = tile.getContext('2d');
    pen.fillStyle = colour;
    pen.globalAlpha = kind === hatchings - 1 ? 0.45 : 1;
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = colours.paper;
    pen.lineWidth = 1.5;
    const stroke = (fromX, fromY, toX, toY) => {
      pen.beginPath();
      pen.moveTo(fromX, fromY);
      pen.lineTo(toX, toY);
      pen.stroke();
    };
    const up = () => [-8, 0, 8].forEach((shift) => stroke(shift, 8, shift + 8, 0));
    const down = () => [-8, 0, 8].forEach((shift) => stroke(shift, 0, shift + 8, 8));
    if (kind === 1 || kind === 3) up();
    if (kind === 2 || kind === 3) down();
    return pen.createPattern(tile, 'repeat');
  };

  const lookOf = (series) => {
    const family = series.style === 'stacked' ? colours.part : colours.series;
    const colour = isThin(series) ? colours.muted : family[series.look % family.length];
    const [mark, rotation] = shapes[series.shape] ?? marks[series.look % marks.length];
    const variant = series.variant ?? 0;
    let dash = dashes[variant % dashes.length];
    if (series.style === 'ideal') dash = [7, 5];
    if (series.style === 'reference') dash = thinDashes[series.look % thinDashes.length];
    return {colour, mark, rotation, dash, isHollow: series.shape === 'hollow',
      fill: isBar(series) ? hatched(colour, (series.look + variant) % hatchings) : colour};
  };

  // The line, mark or bar as the chart has it.
  const drawSample = (canvas, series) => {
    const [width, height] = [34, 16];
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    const look = lookOf(series);
    const isDoubtful = look.isHollow || (series.points.length > 0 && series.points.every((point) => point[4] === 0));
    pen.strokeStyle = look.colour;
    if (isBar(series)) {
      pen.fillStyle = series.style === 'bars' && isDoubtful ? colours.paper : look.fill;
      pen.strokeStyle = series.style === 'bars' ? look.colour : colours.muted;
      pen.fillRect(9, 2, 16, 12);
      pen.strokeRect(9, 2, 16, 12);
      return;
    }
    if (series.style !== 'points') {
      pen.lineWidth = isThin(series) ? 1.5 : 2;
      pen.setLineDash(look.dash);
      pen.beginPath();
      pen.moveTo(0, height / 2);
      pen.lineTo(width, height / 2);
      pen.stroke();
      pen.setLineDash([]);
    }
    if (isThin(series)) return;
    pen.fillStyle = isDoubtful ? colours.paper : look.colour;
    pen.lineWidth = 1.5;
    Chart.helpers.drawPoint(pen, {pointStyle: look.mark, rotation: look.rotation,
      radius: 5, borderWidth: 1.5}, width / 2, height / 2);
  };

  // What series are called, each a button that hides it; drawn anew where colours change.
  const makeLegend = (box, chart, toggle) => {
    const list = document.createElement('ul');
    list.className = 'legend';
    const samples = chart.series.map((series, at) => {
      const item = document.createElement('li');
      const button = document.createElement('button');
      const sample = document.createElement('canvas');
      button.type = 'button';
      button.setAttribute('aria-pressed', 'true');
      button.title = 'Show or hide';
      button.append(sample, series.name);
      button.addEventListener('click', () => {
        const isShown = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(isShown));
        toggle(at, isShown);
      });
      item.append(button);
      list.append(item);
      return () => drawSample(sample, series);
    });
    box.after(list);
    const redraw = () => samples.forEach((draw) => draw());
    redraw();
    return redraw;
  };

  return {colours, readColours, lookOf, isThin, makeLegend};
})();
