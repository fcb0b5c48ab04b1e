// What Chart.js has not: a ground, intervals, upright lines, and names above bars that lie.
const chartPlugins = (() => {
  'use strict';
  const {colours} = looks;

  const ground = {
    id: 'ground',
    beforeDraw: (chart) => {
      chart.ctx.save();
      chart.ctx.fillStyle = colours.paper;
      chart.ctx.fillRect(0, 0, chart.width, chart.height);
      chart.ctx.restore();
    },
  };
  const drawIntervals = (chart, isOfBars) => {
    const {ctx, chartArea: area} = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
    ctx.clip();
    ctx.lineWidth = 1.5;
    chart.data.datasets.forEach((dataset, at) => {
      if ((dataset.type === 'bar') !== isOfBars || !chart.isDatasetVisible(at)) return;
      ctx.strokeStyle = isOfBars ? colours.ink : dataset.borderColor;
      chart.getDatasetMeta(at).data.forEach((element, place) => {
        const {low, high} = dataset.data[place];
        if (low === null || low === undefined) return;
        const top = chart.scales.y.getPixelForValue(high);
        // A logarithmic axis has no 0.
        const bottom = chart.scales.y.getPixelForValue(Math.max(low, chart.scales.y.min));
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
  };
  const intervals = {
    id: 'intervals',
    beforeDatasetsDraw: (chart) => drawIntervals(chart, false),
    afterDatasetsDraw: (chart) => drawIntervals(chart, true),
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

  // Above each bar, as long as the chart is wide: beside it long names would leave no room for bars.
  const barNames = {
    id: 'barNames',
    afterDatasetsDraw: (chart) => {
      const {ctx, chartArea: area} = chart;
      const {names, barHeight} = chart.config.data;
      if (names === undefined) return;
      ctx.save();
      ctx.fillStyle = colours.ink;
      ctx.font = '12px sans-serif';
      ctx.textBaseline = 'bottom';
      names.forEach((name, place) => {
        let text = name;
        const room = area.right - area.left;
        while (text.length > 4 && ctx.measureText(text).width > room) text = `${text.slice(0, -2)}…`;
        ctx.fillText(text, area.left + 2, chart.scales.y.getPixelForValue(place) - barHeight / 2 - 1);
      });
      ctx.restore();
    },
  };

  return [ground, uprights, intervals, barNames];
})();
