// Draws what stands in #chart-data by Chart.js 3, in the place of the drawings.
(() => {
  'use strict';
  const charts = JSON.parse(document.getElementById('chart-data').textContent);
  const marks = ['circle', 'rect', 'triangle', 'rectRot', 'crossRot', 'star', 'rectRounded', 'cross'];
  const seriesColours = 8;
  const manyPoints = 80;

  let colours = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(`--${name}`).trim();
    colours = {paper: value('paper'), ink: value('ink'), muted: value('muted'), line: value('line')};
    colours.series = Array.from({length: seriesColours}, (_, at) => value(`series-${at + 1}`));
  };

  // Texts of numbers

  const bytesText = (bytes) => {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let at = 0;
    while (bytes >= 1024 && at + 1 < units.length) {
      bytes /= 1024;
      at += 1;
    }
    return `${Number(bytes.toPrecision(3))} ${units[at]}`;
  };
  const numberText = (value) => {
    const rounded = Number(value.toPrecision(4));
    const size = Math.abs(rounded);
    return size >= 1e6 || (size > 0 && size < 1e-3) ? rounded.toExponential() : String(rounded);
  };
  const textOn = (axis, value) => {
    if (axis.categories.length > 0) return axis.categories[value] ?? '';
    return axis.numbers === 'bytes' ? bytesText(value) : numberText(value);
  };

  // Bars are told apart by their hatching too

  const hatched = (colour, kind) => {
    if (kind === 0) return colour;
    const tile = document.createElement('canvas');
    tile.width = tile.height = 8;
    const pen = tile.getContext('2d');
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = pen.fillStyle = colours.paper;
    pen.lineWidth = 1.5;
    const line = (...points) => {
      pen.beginPath();
      pen.moveTo(points[0], points[1]);
      pen.lineTo(points[2], points[3]);
      pen.stroke();
    };
    const kinds = [
      () => [[-2, 2, 2, -2], [0, 8, 8, 0], [6, 10, 10, 6]].forEach((points) => line(...points)),
      () => [[-2, 6, 2, 10], [0, 0, 8, 8], [6, -2, 10, 2]].forEach((points) => line(...points)),
      () => line(0, 4, 8, 4),
      () => pen.fillRect(2, 2, 3, 3),
      () => line(4, 0, 4, 8),
      () => { line(0, 4, 8, 4); line(4, 0, 4, 8); },
    ];
    kinds[(kind - 1) % kinds.length]();
    return pen.createPattern(tile, 'repeat');
  };

  // What Chart.js has not: intervals, marks and a ground

  const ground = {
    id: 'ground',
    beforeDraw: (chart) => {
      chart.ctx.save();
      chart.ctx.fillStyle = colours.paper;
      chart.ctx.fillRect(0, 0, chart.width, chart.height);
      chart.ctx.restore();
    },
  };
  const intervals = {
    id: 'intervals',
    beforeDatasetsDraw: (chart) => {
      const {ctx, chartArea: area} = chart;
      ctx.save();
      ctx.beginPath();
      ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
      ctx.clip();
      chart.data.datasets.forEach((dataset, at) => {
        const drawn = chart.getDatasetMeta(at);
        if (drawn.hidden || !chart.isDatasetVisible(at)) return;
        ctx.strokeStyle = dataset.borderColor;
        ctx.lineWidth = 1.5;
        drawn.data.forEach((element, place) => {
          const {low, high} = dataset.data[place];
          if (low === null) return;
          const top = chart.scales.y.getPixelForValue(high);
          const bottom = chart.scales.y.getPixelForValue(low);
          ctx.beginPath();
          ctx.moveTo(element.x, top);
          ctx.lineTo(element.x, bottom);
          for (const end of [top, bottom]) {
            ctx.moveTo(element.x - 5, end);
            ctx.lineTo(element.x + 5, end);
          }
          ctx.stroke();
        });
      });
      ctx.restore();
    },
  };
  const uprights = {
    id: 'uprights',
    beforeDatasetsDraw: (chart) => {
      const {ctx, chartArea: area} = chart;
      ctx.save();
      ctx.strokeStyle = colours.line;
      ctx.fillStyle = colours.muted;
      ctx.font = '12px sans-serif';
      let free = area.left;
      for (const [x, text] of chart.config.data.marks) {
        const at = chart.scales.x.getPixelForValue(x);
        if (at < area.left || at > area.right) continue;
        ctx.beginPath();
        ctx.moveTo(at, area.top);
        ctx.lineTo(at, area.bottom);
        ctx.stroke();
        if (at < free) continue;
        ctx.fillText(text, at + 3, area.top + 12);
        free = at + 12 + ctx.measureText(text).width;
      }
      ctx.restore();
    },
  };

  // From our data to those of Chart.js

  const pointOf = ([x, y, low = null, high = null, trusted = 1, note = '']) =>
    ({x, y, low, high, trusted: trusted === 1, note});

  const datasetOf = (series, at) => {
    const colour = colours.series[at % seriesColours];
    const data = series.points.map(pointOf);
    const isSmall = data.length > manyPoints;
    const dataset = {label: series.name, data, borderColor: colour, borderWidth: 2};
    if (series.style === 'stacked') {
      return {...dataset, type: 'bar', stack: 'parts', borderWidth: 1, borderColor: colours.paper,
        backgroundColor: hatched(colour, at % 7), maxBarThickness: 64};
    }
    if (series.style === 'ideal' || series.style === 'reference') {
      return {...dataset, type: 'line', borderColor: colours.muted, borderWidth: 1.5,
        borderDash: series.style === 'ideal' ? [7, 5] : [2, 3], pointRadius: 0, pointHitRadius: 0,
        pointStyle: 'line', backgroundColor: colours.muted, isFrame: true};
    }
    return {...dataset, type: 'line', showLine: series.style === 'line', stack: series.name,
      pointStyle: marks[at % marks.length], pointRadius: isSmall ? 2 : 5, pointHoverRadius: 7,
      pointHitRadius: isSmall ? 4 : 10, pointBorderWidth: 1.5, backgroundColor: colour,
      pointBackgroundColor: data.map((point) => (point.trusted ? colour : colours.paper))};
  };

  // Where an axis has its figures, in the place of Chart.js's own choice.
  const placeTicks = (axis) => (scale) => {
    if (axis.categories.length > 0) {
      scale.ticks = axis.categories.map((_, value) => ({value}));
    } else if (axis.scale === 'log2') {
      const ticks = [];
      const first = Math.ceil(Math.log2(scale.min) - 1e-9);
      for (let power = first; 2 ** power <= scale.max; power += 1) ticks.push({value: 2 ** power});
      if (ticks.length >= 2) scale.ticks = ticks;
    }
  };
  const tickText = (axis, value) => {
    const text = textOn(axis, value);
    const cut = (part) => (part.length > 24 ? `${part.slice(0, 23)}…` : part);
    if (axis.categories.length > 12) return cut(text);
    if (axis.categories.length > 0) return text.split(', ').map(cut).slice(0, 4);
    if (axis.numbers === 'whole' && !Number.isInteger(value)) return '';
    const digit = Math.round(value / 10 ** Math.floor(Math.log10(value)));
    return axis.scale === 'log10' && ![1, 2, 5].includes(digit) ? '' : text;
  };

  // Marks at an end of the axis need room beside them.
  const rangeOf = (axis, values, isUpright) => {
    if (axis.categories.length > 0) return {min: -0.5, max: axis.categories.length - 0.5};
    const range = {};
    if (axis.low !== undefined) range.min = axis.low;
    if (axis.high !== undefined) range.max = axis.high;
    if (isUpright && axis.scale === 'linear') return range;
    const known = values.filter((value) => axis.scale === 'linear' || value > 0);
    const lowest = range.min ?? known.reduce((one, other) => Math.min(one, other), Infinity);
    const highest = range.max ?? known.reduce((one, other) => Math.max(one, other), -Infinity);
    if (!(lowest <= highest)) return range;
    if (axis.scale === 'linear') {
      const room = (highest - lowest || 1) * 0.03;
      return {min: lowest - room, max: highest + room};
    }
    const room = Math.max(1.05, (highest / lowest) ** 0.04);
    return {min: lowest / room, max: highest * room};
  };

  const scaleOf = (axis, values, isStacked, isUpright) => ({
    type: axis.scale === 'linear' ? 'linear' : 'logarithmic',
    ...rangeOf(axis, values, isUpright),
    stacked: isStacked,
    grace: isUpright && axis.scale === 'linear' ? '5%' : 0,
    offset: false,
    title: {display: axis.title !== '', text: axis.title, color: colours.ink},
    grid: {color: colours.line, borderColor: colours.muted, offset: false,
      drawOnChartArea: isUpright || axis.categories.length === 0},
    afterBuildTicks: placeTicks(axis),
    ticks: {
      color: colours.ink,
      autoSkip: true,
      includeBounds: false,
      maxRotation: 60,
      ...(axis.numbers === 'whole' ? {precision: 0} : {}),
      callback: (value) => tickText(axis, value),
    },
  });

  const linesOn = (chart, item) => {
    const point = item.raw;
    let line = `${item.dataset.label}: ${textOn(chart.y, point.y)}`;
    if (point.low !== null) {
      line += ` (95 %: ${textOn(chart.y, point.low)} to ${textOn(chart.y, point.high)})`;
    }
    const lines = [line];
    if (!point.trusted) lines.push('not reliable');
    if (point.note !== '') lines.push(point.note);
    return lines;
  };
  const placeText = (chart, x) => {
    const text = textOn(chart.x, x);
    return chart.x.categories.length > 0 || chart.x.title === '' ? text : `${chart.x.title}: ${text}`;
  };

  const configOf = (chart) => {
    const isStacked = chart.series.some((series) => series.style === 'stacked');
    const points = chart.series.flatMap((series) => series.points);
    return {
      type: isStacked ? 'bar' : 'line',
      data: {datasets: chart.series.map(datasetOf), marks: chart.marks},
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: isStacked ? {mode: 'x', intersect: false} : {mode: 'nearest', intersect: true},
        scales: {
          x: scaleOf(chart.x, points.map((point) => point[0]), isStacked, false),
          y: scaleOf(chart.y, points.map((point) => point[1]), isStacked, true),
        },
        plugins: {
          legend: {
            display: chart.series.length > 1 || chart.series[0]?.name !== '',
            position: 'bottom',
            labels: {color: colours.ink, usePointStyle: !isStacked},
          },
          tooltip: {
            callbacks: {
              title: (items) => (items.length > 0 ? placeText(chart, items[0].raw.x) : ''),
              label: (item) => linesOn(chart, item),
            },
          },
        },
      },
      plugins: [ground, uprights, intervals],
    };
  };

  // Keys: the arrows go from value to value, and what is shown is told

  const addKeys = (live, canvas, chart, drawn) => {
    const told = document.createElement('output');
    told.className = 'told';
    told.setAttribute('aria-live', 'polite');
    live.append(told);
    const stops = drawn.data.datasets
      .flatMap((dataset, datasetIndex) => dataset.isFrame ? [] : dataset.data.map((point, index) =>
        ({datasetIndex, index, x: point.x})))
      .sort((one, other) => one.x - other.x || one.datasetIndex - other.datasetIndex);
    let at = -1;
    canvas.addEventListener('keydown', (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (step === undefined || stops.length === 0) return;
      event.preventDefault();
      at = (at + step + stops.length) % stops.length;
      const stop = stops[at];
      const element = drawn.getDatasetMeta(stop.datasetIndex).data[stop.index];
      drawn.setActiveElements([stop]);
      drawn.tooltip.setActiveElements([stop], {x: element.x, y: element.y});
      drawn.update('none');
      const dataset = drawn.data.datasets[stop.datasetIndex];
      const raw = dataset.data[stop.index];
      told.textContent = [placeText(chart, raw.x), ...linesOn(chart, {raw, dataset})].join(', ');
    });
  };

  const live = [];
  const draw = (chart, at) => {
    const figure = document.getElementById(`chart-${at + 1}`);
    const box = document.createElement('div');
    const canvas = document.createElement('canvas');
    box.className = 'live';
    canvas.tabIndex = 0;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `Chart: ${chart.title}. The arrow keys go from value to value.`);
    box.append(canvas);
    figure.querySelector('.drawing').append(box);
    figure.classList.add('is-live');
    if (figure.querySelector('img.static')) figure.classList.add('has-drawing');
    try {
      const drawn = new Chart(canvas, configOf(chart));
      addKeys(box, canvas, chart, drawn);
      live.push({chart, drawn});
    } catch (error) {
      box.remove();
      figure.classList.remove('is-live');
      console.error(error);
    }
  };

  const redraw = () => {
    readColours();
    for (const {chart, drawn} of live) {
      const fresh = configOf(chart);
      drawn.data.datasets.forEach((dataset, at) => Object.assign(dataset, fresh.data.datasets[at]));
      drawn.options = fresh.options;
      drawn.update('none');
    }
  };

  readColours();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  // One after the other, so that the page answers meanwhile.
  const drawFrom = (at) => {
    if (at === charts.length) {
      document.documentElement.dataset.charts = 'drawn';
      performance.mark('charts-drawn');
      return;
    }
    draw(charts[at], at);
    setTimeout(drawFrom, 0, at + 1);
  };
  drawFrom(0);
})();
