// Draws what stands in #chart-data by Chart.js 3, in the place of the drawings.
(() => {
  'use strict';
  const charts = JSON.parse(document.getElementById('chart-data').textContent);
  const {colours} = looks;
  const manyPoints = 80;
  const mostWholeTicks = 12;
  const lyingBar = 14;
  const lyingRoom = 40;

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

  // A ring is what tables have before figures that are not reliable.
  for (const {x, series} of charts) {
    for (const {style, points} of series) {
      for (const [place, , , , trusted] of style === 'stacked' ? points : []) {
        if (trusted === 0 && !x.categories[place].startsWith('○ ')) {
          x.categories[place] = `○ ${x.categories[place]}`;
        }
      }
    }
  }

  const sorted = (values) => [...new Set(values)].sort((one, other) => one - other);

  // Bars beside each other stand at the places that have some, however far these are apart.
  for (const chart of charts) {
    if (!chart.series.some((series) => series.style === 'bars')) continue;
    const places = sorted(chart.series.flatMap((series) => series.points.map(([x]) => x)));
    chart.x.categories = places.map((x) => textOn({...chart.x, categories: []}, x));
    for (const series of chart.series) {
      for (const point of series.points) point[0] = places.indexOf(point[0]);
    }
    chart.isGrouped = true;
  }

  // From our data to those of Chart.js

  const pointOf = ([x, y, low = null, high = null, trusted = 1, note = '']) =>
    ({x, y, place: x, value: y, low, high, trusted: trusted === 1, note});

  // Across the bars of each place.
  const acrossPlaces = (data) => sorted(data.map((point) => point.x)).flatMap((x) => {
    const {y} = data.find((point) => point.x === x);
    return [{x: x - 0.45, y}, {x: x + 0.45, y}, {x: NaN, y: NaN}];
  });

  // Around a single value.
  const around = ({x, y}, chart) => {
    const all = chart.series.flatMap((series) => series.points.map(([place]) => place));
    const [least, most] = [Math.min(...all), Math.max(...all)];
    const isLog = chart.x.scale !== 'linear';
    return [-0.05, 0.05].map((share) =>
      ({x: isLog ? x * (most / least) ** share : x + share * (most - least), y}));
  };

  const datasetOf = (chart, series, isLying) => {
    const look = looks.lookOf(series);
    const data = series.points.map(pointOf);
    const dataset = {label: series.name, data, borderColor: look.colour, borderWidth: 2};
    if (series.style === 'stacked') {
      return {...dataset, type: 'bar', stack: 'parts', borderWidth: 1, borderColor: colours.paper,
        data: isLying ? data.map((point) => ({...point, x: point.value, y: point.place})) : data,
        backgroundColor: look.fill, maxBarThickness: isLying ? lyingBar : 64};
    }
    if (series.style === 'bars') {
      const all = chart.x.categories.map((_, x) => data.find((point) => point.x === x) ??
        {x, y: null, value: null});
      const count = chart.series.filter(({style}) => style === 'bars').length;
      const thickness = ({chart: drawn}) =>
        Math.min(56, 0.8 * (drawn.chartArea?.width ?? drawn.width) / chart.x.categories.length / count);
      return {...dataset, type: 'bar', data: all, skipNull: true, barThickness: thickness,
        backgroundColor: all.map((point) => (point.trusted === false ? colours.paper : look.fill))};
    }
    if (looks.isThin(series)) {
      const line = chart.isGrouped ? acrossPlaces(data) : data.length === 1 ? around(data[0], chart) : data;
      return {...dataset, type: 'line', data: line, borderWidth: 1.5, borderDash: look.dash,
        pointRadius: 0, pointHitRadius: 0, backgroundColor: look.colour, isFrame: true};
    }
    const isSmall = data.length > manyPoints;
    return {...dataset, type: 'line', showLine: series.style === 'line', stack: series.name,
      borderDash: look.dash, pointStyle: look.mark, pointRotation: look.rotation,
      pointRadius: isSmall ? 2 : 5, pointHoverRadius: 7, pointHitRadius: isSmall ? 4 : 10,
      pointBorderWidth: 1.5, backgroundColor: look.colour,
      pointBackgroundColor:
        data.map((point) => (point.trusted && !look.isHollow ? look.colour : colours.paper))};
  };

  // Where an axis has its figures, in the place of Chart.js's own choice.
  const placeTicks = (axis, values) => (scale) => {
    const places = axis.numbers === 'whole' ? sorted(values) : [];
    if (axis.categories.length > 0) {
      scale.ticks = axis.categories.map((_, value) => ({value}));
    } else if (places.length > 0 && places.length <= mostWholeTicks) {
      scale.ticks = places.map((value) => ({value}));
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
    if (isUpright && axis.scale === 'linear') {
      if (values.length === 0) return range;
      const ends = values.concat(range.min === undefined ? [] : [0]);
      return {...range, suggestedMin: Math.min(...ends), suggestedMax: Math.max(...ends)};
    }
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

  // `isUpright`: the axis of the values, wherever it lies.
  const scaleOf = (axis, values, isUpright, more) => ({
    type: axis.scale === 'linear' ? 'linear' : 'logarithmic',
    ...rangeOf(axis, values, isUpright),
    grace: isUpright && axis.scale === 'linear' ? '5%' : 0,
    offset: false,
    title: {display: axis.title !== '', text: axis.title, color: colours.ink},
    grid: {color: colours.line, borderColor: colours.muted, offset: false,
      drawOnChartArea: isUpright || axis.categories.length === 0},
    afterBuildTicks: placeTicks(axis, values),
    ticks: {
      color: colours.ink,
      autoSkip: !more.stacked || isUpright,
      includeBounds: false,
      maxRotation: more.stacked ? 0 : 60,
      ...(axis.numbers === 'whole' ? {precision: 0} : {}),
      callback: (value) => tickText(axis, value),
      display: !more.isNamed,
    },
    ...more,
  });

  const levelText = (chart) => String(Number((100 * (chart.level ?? 0.95)).toPrecision(5)));

  // The same for a value under the pointer, one at the keys, and one that is read.
  const linesOn = (chart, item) => {
    const point = item.raw;
    let line = `${item.dataset.label}: ${textOn(chart.y, point.value)}`;
    if (point.low !== null) {
      line += ` (${levelText(chart)} %: ${textOn(chart.y, point.low)} to ${textOn(chart.y, point.high)})`;
    }
    const lines = [line];
    if (!point.trusted) lines.push('not reliable');
    if (point.note !== '') lines.push(point.note);
    return lines;
  };
  const placeText = (chart, place) => {
    const text = textOn(chart.x, place);
    const isName = chart.x.categories.length > 0 && !chart.isGrouped;
    return isName || chart.x.title === '' ? text : `${chart.x.title}: ${text}`;
  };

  // Bars whose names have no room side by side lie, each with its name above it.
  const isStacked = (chart) => chart.series.some((series) => series.style === 'stacked');
  const lies = (chart, width) => {
    if (!isStacked(chart)) return false;
    const pen = document.createElement('canvas').getContext('2d');
    pen.font = '12px sans-serif';
    const parts = chart.x.categories.flatMap((_, place) => [tickText(chart.x, place)].flat());
    const widest = Math.max(...parts.map((part) => pen.measureText(part).width));
    return widest + 8 > (width - 60) / chart.x.categories.length;
  };

  const configOf = (chart, isLying) => {
    const stacked = isStacked(chart);
    const points = chart.series.flatMap((series) => series.points);
    const values = points.flatMap(([, y, low, high]) => [y, low ?? y, high ?? y]);
    const places = scaleOf(chart.x, points.map(([x]) => x), false,
      {stacked, ...(isLying ? {reverse: true, isNamed: true} : {})});
    const upright = scaleOf(chart.y, stacked ? [] : values, true, {stacked});
    return {
      type: stacked ? 'bar' : 'line',
      data: {datasets: chart.series.map((series) => datasetOf(chart, series, isLying)),
        marks: chart.marks, ...(isLying ? {names: chart.x.categories, barHeight: lyingBar} : {})},
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        indexAxis: isLying ? 'y' : 'x',
        interaction: stacked ? {mode: isLying ? 'y' : 'x', intersect: false}
          : {mode: 'nearest', intersect: true},
        scales: isLying ? {x: upright, y: places} : {x: places, y: upright},
        plugins: {
          legend: {display: false},
          tooltip: {
            callbacks: {
              title: (items) => (items.length > 0 ? placeText(chart, items[0].raw.place) : ''),
              label: (item) => linesOn(chart, item),
            },
          },
        },
      },
      plugins: chartPlugins,
    };
  };

  // Keys: the arrows go from value to value, and what is shown is told

  const addKeys = (view) => {
    const {chart, canvas} = view;
    const told = document.createElement('output');
    told.className = 'told';
    told.setAttribute('aria-live', 'polite');
    canvas.after(told);
    const stops = view.drawn.data.datasets
      .flatMap((dataset, datasetIndex) => dataset.isFrame ? [] : dataset.data.map((point, index) =>
        ({datasetIndex, index, point})))
      .filter(({point}) => point.value !== null)
      .sort((one, other) => one.point.place - other.point.place || one.datasetIndex - other.datasetIndex);
    let at = -1;
    canvas.addEventListener('keydown', (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (step === undefined || stops.length === 0) return;
      event.preventDefault();
      at = (at + step + stops.length) % stops.length;
      const {drawn} = view;
      const stop = stops[at];
      const element = drawn.getDatasetMeta(stop.datasetIndex).data[stop.index];
      drawn.setActiveElements([stop]);
      drawn.tooltip.setActiveElements([stop], {x: element.x, y: element.y});
      drawn.update('none');
      const dataset = drawn.data.datasets[stop.datasetIndex];
      told.textContent = [placeText(chart, stop.point.place),
        ...linesOn(chart, {raw: stop.point, dataset})].join(', ');
    });
  };

  // A chart on the page. It is made anew where its bars lie down or get up, or colours change.
  const make = (view) => {
    const {chart, box, canvas} = view;
    view.isLying = lies(chart, box.clientWidth);
    box.style.height = view.isLying ? `${lyingRoom * chart.x.categories.length + 60}px` : '';
    view.drawn?.destroy();
    view.drawn = new Chart(canvas, configOf(chart, view.isLying));
    view.hidden.forEach((at) => view.drawn.setDatasetVisibility(at, false));
    if (view.hidden.size > 0) view.drawn.update('none');
  };

  const views = [];
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
    const view = {chart, box, canvas, hidden: new Set()};
    try {
      make(view);
      addKeys(view);
      if (chart.series.length > 1 || chart.series[0]?.name !== '') {
        view.redrawLegend = looks.makeLegend(box, chart, (place, isShown) => {
          if (isShown) view.hidden.delete(place); else view.hidden.add(place);
          view.drawn.setDatasetVisibility(place, isShown);
          view.drawn.update('none');
        });
      }
      new ResizeObserver(() => {
        if (lies(chart, box.clientWidth) !== view.isLying) make(view);
        else view.drawn.resize();
      }).observe(box);
      views.push(view);
    } catch (error) {
      box.remove();
      figure.classList.remove('is-live');
      console.error(error);
    }
  };

  const redraw = () => {
    looks.readColours();
    for (const view of views) {
      make(view);
      view.redrawLegend?.();
    }
  };

  looks.readColours();
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
