'use strict';
(async () => {
  const $ = id => document.getElementById(id);
  const about = JSON.parse($('about').textContent);
  const volumes = about.volumes;
  const tell = text => { $('message').textContent = text; $('message').hidden = false; };
  if (volumes.length === 0) { document.documentElement.dataset.ready = 'empty'; return; }
  if (typeof DecompressionStream === 'undefined') {
    tell('This browser cannot unpack the images: it has no DecompressionStream. Chrome and Edge from 80, Firefox from ' +
      '113 and Safari from 16.4 have it. The curves and tables below do without.');
    document.documentElement.dataset.ready = 'no-images';
    return;
  }

  // ---- the volumes
  const unpack = async n => {
    const text = atob($('volume-' + n).textContent);
    const packed = new Uint8Array(text.length);
    for (let at = 0; at < text.length; ++at) packed[at] = text.charCodeAt(at);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  try {
    for (let n = 0; n < volumes.length; ++n) {
      const v = volumes[n];
      v.bytes = await unpack(n);
      if (v.bytes.length !== v.size[0] * v.size[1] * v.size[2]) throw new Error('it has the wrong size');
      v.histogram = new Float64Array(256);
      for (const byte of v.bytes) ++v.histogram[byte];
      v.group = v.unit + (v.projections ? ' projections' : '');
    }
  } catch (error) {
    tell('The images of this file are damaged: ' + error.message);
    document.documentElement.dataset.ready = 'damaged';
    return;
  }
  const valueOf = (v, byte) => v.offset + v.slope * byte;
  const same = (a, b) => a.length === b.length && a.every((x, n) => Math.abs(x - b[n]) <= 1e-4 * Math.max(1, Math.abs(x)));
  const comparable = (a, b) => same(a.whole, b.whole) && same(a.spacing, b.spacing) && same(a.origin, b.origin) &&
    same(a.direction, b.direction) && same(a.size, b.size) && a.projections === b.projections;
  const number = value => {
    const size = Math.abs(value);
    return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(3) : String(Number(value.toPrecision(4)));
  };

  // ---- state
  const state = { left: 0, right: -1, mode: 'swipe', at: [0, 0, 0], swipe: 0.5, windows: {} };
  const left = () => volumes[state.left];
  const right = () => state.right < 0 ? null : volumes[state.right];
  const mode = () => right() ? state.mode : 'left';

  // Values between which a part of those in the histograms lies.
  const percentiles = (parts, low, high) => {
    const entries = [];
    let total = 0;
    for (const [v, histogram] of parts)
      histogram.forEach((count, byte) => { if (count > 0) { entries.push([valueOf(v, byte), count]); total += count; } });
    entries.sort((a, b) => a[0] - b[0]);
    const at = part => {
      let seen = 0;
      for (const [value, count] of entries) if ((seen += count) >= part * total) return value;
      return entries.length ? entries[entries.length - 1][0] : 1;
    };
    let [a, b] = [at(low), at(high)];
    if (!(b > a) && entries.length) [a, b] = [entries[0][0], entries[entries.length - 1][0]];
    if (!(b > a)) { const margin = Math.max(1, Math.abs(a)); [a, b] = [a - margin, a + margin]; }
    return { low: a, high: b };
  };
  const rangeOf = group => {
    let low = Infinity, high = -Infinity;
    if (group === 'difference') {
      const of = differenceParts();
      high = Math.max(Math.abs(of.high), Math.abs(of.low));
      low = -high;
    } else for (const v of volumes) if (v.group === group) {
      low = Math.min(low, v.offset);
      high = Math.max(high, valueOf(v, 255));
    }
    if (!(high > low)) { const margin = Math.max(1, Math.abs(low)); low -= margin; high += margin; }
    return { low, high };
  };
  const differenceParts = () => {
    const a = left(), b = right();
    return { low: b.offset - valueOf(a, 255), high: valueOf(b, 255) - a.offset };
  };
  const defaultWindow = group => {
    if (group !== 'difference')
      return percentiles(volumes.filter(v => v.group === group).map(v => [v, v.histogram]), 0.005, 0.995);
    // of every so many voxels
    const a = left(), b = right(), values = [];
    const step = Math.max(1, Math.floor(a.bytes.length / 200000));
    for (let n = 0; n < a.bytes.length; n += step) values.push(Math.abs(valueOf(b, b.bytes[n]) - valueOf(a, a.bytes[n])));
    values.sort((x, y) => x - y);
    const most = values[Math.floor(0.995 * (values.length - 1))] || a.slope || 1;
    return { low: -most, high: most };
  };
  const windowOf = group => state.windows[group] || (state.windows[group] = defaultWindow(group));
  const shownGroup = () => mode() === 'difference' ? 'difference' : mode() === 'right' ? right().group : left().group;

  // ---- planes
  const planes = [{ across: 2, h: 0, v: 1, name: 'axial', stack: 'projection' },
    { across: 1, h: 0, v: 2, name: 'coronal', stack: 'row over views' },
    { across: 0, h: 1, v: 2, name: 'sagittal', stack: 'column over views' }];
  const axisName = (v, axis) => {
    if (v.projections) return ['u', 'v', 'view'][axis];
    const column = [0, 1, 2].map(row => v.direction[3 * row + axis]);
    const world = column.findIndex(x => Math.abs(x) > 0.999);
    return 'ijk'[axis] + (world < 0 ? '' : ' (' + (column[world] > 0 ? '+' : '−') + 'xyz'[world] + ')');
  };
  const middle = (v, axis, at) => {  // of a box, as index of the whole volume
    const first = at * v.factors[axis], count = Math.min(v.factors[axis], v.whole[axis] - first);
    return first + (count - 1) / 2;
  };
  const extent = (v, axis) => {
    if (v.projections && axis === 2) return Math.max(v.whole[0] * v.spacing[0], v.whole[1] * v.spacing[1]);
    return v.whole[axis] * v.spacing[axis];
  };
  for (const plane of planes) {
    const figure = document.createElement('figure');
    figure.className = 'plane';
    figure.innerHTML = '<figcaption><b></b><span></span></figcaption><div class="frame"><canvas tabindex="0" role="img">' +
      '</canvas></div><label class="slice"><span></span><input type="range" min="0"><span></span></label>';
    $('planes').append(figure);
    plane.figure = figure;
    plane.canvas = figure.querySelector('canvas');
    plane.canvas.id = 'canvas-' + plane.name;
    plane.slider = figure.querySelector('input');
    plane.slider.id = 'slice-' + plane.name;
    [plane.title, plane.axes] = [figure.querySelector('b'), figure.querySelector('figcaption span')];
    [plane.along, plane.number] = figure.querySelectorAll('.slice span');
    plane.images = [document.createElement('canvas'), document.createElement('canvas')];
  }
  const isLittle = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
  const grey = g => isLittle ? (0xff000000 | g << 16 | g << 8 | g) >>> 0 : (g << 24 | g << 16 | g << 8 | 255) >>> 0;
  const greyOf = (value, w) => Math.max(0, Math.min(255, Math.round(255 * (value - w.low) / (w.high - w.low))));
  const table = v => {
    const w = windowOf(v.group), out = new Uint32Array(256);
    for (let byte = 0; byte < 256; ++byte) out[byte] = grey(greyOf(valueOf(v, byte), w));
    return out;
  };
  // Calls each(place in the picture, place in the volume) for all pixels of a slice.
  const overSlice = (plane, v, each) => {
    const strides = [1, v.size[0], v.size[0] * v.size[1]];
    const start = state.at[plane.across] * strides[plane.across], w = v.size[plane.h], h = v.size[plane.v];
    for (let y = 0, out = 0; y < h; ++y)
      for (let x = 0, from = start + y * strides[plane.v]; x < w; ++x, from += strides[plane.h]) each(out++, from);
  };
  const paint = (plane, which, v, pixelOf) => {
    const image = plane.images[which], w = v.size[plane.h], h = v.size[plane.v];
    if (image.width !== w || image.height !== h) { image.width = w; image.height = h; }
    const context = image.getContext('2d'), pixels = new Uint32Array(w * h);
    overSlice(plane, v, (to, from) => { pixels[to] = pixelOf(from); });
    context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), w, h), 0, 0);
    return image;
  };
  const paintVolume = (plane, which, v) => {
    const colours = table(v), bytes = v.bytes;
    return paint(plane, which, v, from => colours[bytes[from]]);
  };
  const paintDifference = plane => {
    const a = left(), b = right(), w = windowOf('difference');
    return paint(plane, 0, a, from => grey(greyOf(valueOf(b, b.bytes[from]) - valueOf(a, a.bytes[from]), w)));
  };

  const fit = plane => {  // the canvas in its place, in device pixels
    const v = left(), wide = extent(v, plane.h), high = extent(v, plane.v);
    const room = plane.figure.clientWidth || 300, most = Math.max(260, Math.round(0.66 * window.innerHeight));
    const scale = Math.min(room / wide, most / high), dense = window.devicePixelRatio || 1;
    const w = Math.max(24, Math.round(wide * scale)), h = Math.max(24, Math.round(high * scale));
    const [pw, ph] = [Math.round(w * dense), Math.round(h * dense)];
    if (plane.canvas.width !== pw || plane.canvas.height !== ph) {
      plane.canvas.width = pw;
      plane.canvas.height = ph;
      plane.canvas.style.width = w + 'px';
      plane.canvas.style.height = h + 'px';
    }
    plane.mm = scale * dense;  // device pixels of one
    return dense;
  };
  const bar = (context, plane, dense) => {  // a scale in mm
    const v = left();
    if (v.projections && plane.h === 2) return;
    const wanted = 0.3 * plane.canvas.width / plane.mm, power = Math.pow(10, Math.floor(Math.log10(wanted)));
    const mm = [5, 2, 1].map(x => x * power).find(x => x <= wanted) || power, length = mm * plane.mm;
    const x = 10 * dense, y = plane.canvas.height - 10 * dense;
    context.lineWidth = 2 * dense;
    context.font = 12 * dense + 'px system-ui, sans-serif';
    for (const [colour, shift] of [['#000', dense], ['#fff', 0]]) {
      context.strokeStyle = context.fillStyle = colour;
      context.beginPath();
      context.moveTo(x + shift, y + shift);
      context.lineTo(x + length + shift, y + shift);
      context.stroke();
      context.fillText(number(mm) + ' mm', x + shift, y - 6 * dense + shift);
    }
  };
  const line = (context, x0, y0, x1, y1, colour, width) => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x0, y0);
    context.lineTo(x1, y1);
    context.stroke();
  };
  const overlays = (plane, context, dense) => {
    const v = left(), { width, height } = plane.canvas;
    if ($('cross').checked) {
      const x = (state.at[plane.h] + 0.5) / v.size[plane.h] * width, y = (state.at[plane.v] + 0.5) / v.size[plane.v] * height;
      line(context, x, 0, x, height, 'rgba(255,196,0,.6)', dense);
      line(context, 0, y, width, y, 'rgba(255,196,0,.6)', dense);
    }
    if (mode() === 'swipe') {
      const x = state.swipe * width, y = height / 2, r = 7 * dense;
      line(context, x, 0, x, height, 'rgba(255,255,255,.9)', 1.5 * dense);
      context.fillStyle = '#fff';
      context.strokeStyle = '#333';
      context.beginPath();
      context.arc(x, y, r, 0, 2 * Math.PI);
      context.fill();
      context.stroke();
      context.font = 12 * dense + 'px system-ui, sans-serif';
      const names = [[left().name, x - 6 * dense, 'right'], [right().name, x + 6 * dense, 'left']];
      for (const [name, at, align] of names) {
        context.textAlign = align;
        const room = align === 'right' ? at : width - at;
        if (context.measureText(name).width > room) continue;
        for (const [colour, shift] of [['#000', dense], ['#fff', 0]]) {
          context.fillStyle = colour;
          context.fillText(name, at + shift, 16 * dense + shift);
        }
      }
      context.textAlign = 'left';
    }
    bar(context, plane, dense);
  };
  const draw = plane => {
    const dense = fit(plane), context = plane.canvas.getContext('2d'), { width, height } = plane.canvas;
    context.imageSmoothingEnabled = $('smooth').checked;
    context.imageSmoothingQuality = 'high';
    const put = (image, from, to) => {
      context.save();
      context.beginPath();
      context.rect(from, 0, to - from, height);
      context.clip();
      context.drawImage(image, 0, 0, width, height);
      context.restore();
    };
    const divider = Math.round(state.swipe * width), now = mode();
    if (now === 'difference') put(paintDifference(plane), 0, width);
    else if (now === 'right') put(paintVolume(plane, 1, right()), 0, width);
    else {
      put(paintVolume(plane, 0, left()), 0, now === 'swipe' ? divider : width);
      if (now === 'swipe') put(paintVolume(plane, 1, right()), divider, width);
    }
    overlays(plane, context, dense);
    const v = left(), at = state.at[plane.across];
    plane.slider.max = v.size[plane.across] - 1;
    plane.slider.value = at;
    const first = at * v.factors[plane.across], last = Math.min(first + v.factors[plane.across], v.whole[plane.across]) - 1;
    plane.number.textContent = (last > first ? first + ' to ' + last : first) + ' of ' + v.whole[plane.across];
  };
  const captions = () => {
    const v = left();
    for (const plane of planes) {
      plane.figure.hidden = v.size[plane.h] === 1 || v.size[plane.v] === 1;
      const single = v.whole[plane.across] === 1;
      const name = v.projections ? plane.stack : single ? 'slice' : plane.name;
      plane.slider.parentElement.hidden = single;
      plane.title.textContent = name[0].toUpperCase() + name.slice(1);
      plane.axes.textContent = '→ ' + axisName(v, plane.h) + '   ↓ ' + axisName(v, plane.v);
      plane.along.textContent = axisName(v, plane.across);
      plane.canvas.setAttribute('aria-label', plane.title.textContent + ' plane; arrow keys move the cross-hair');
      plane.slider.setAttribute('aria-label', 'Slice along ' + axisName(v, plane.across));
    }
    if (planes.every(plane => plane.figure.hidden)) planes[0].figure.hidden = false;
  };

  // ---- read-out
  const world = (v, index) => [0, 1, 2].map(row => v.origin[row] + [0, 1, 2].reduce(
    (sum, axis) => sum + v.direction[3 * row + axis] * v.spacing[axis] * index[axis], 0));
  const byteAt = (v, at) => v.bytes[at[0] + v.size[0] * (at[1] + v.size[1] * at[2])];
  const valueText = (v, at) => {
    const byte = byteAt(v, at), beyond = byte === 0 && v.below ? '≤ ' : byte === 255 && v.above ? '≥ ' : '';
    return v.name + ': ' + beyond + number(valueOf(v, byte)) + (v.unit ? ' ' + v.unit : '');
  };
  const readout = at => {
    const v = left(), index = [0, 1, 2].map(axis => middle(v, axis, at[axis]));
    const mm = v.projections ? [0, 1].map(axis => v.origin[axis] + v.spacing[axis] * index[axis]) : world(v, index);
    const where = mm.map(x => number(x).replace('-', '−')).join(', ') + ' mm';
    $('place').textContent = v.projections ? 'view ' + index[2] + ' · pixel ' + index[0] + ', ' + index[1] + ' · ' + where
      : 'voxel ' + index.join(', ') + ' · ' + where;
    const shown = [valueText(v, at)];
    if (right()) shown.push(valueText(right(), at));
    if (right() && right().group === v.group)
      shown.push('difference: ' + number(valueOf(right(), byteAt(right(), at)) - valueOf(v, byteAt(v, at))));
    $('values').textContent = shown.join(' · ');
  };
  const notes = () => {
    const v = left(), f = v.factors, parts = [];
    if (f.some(x => x > 1)) parts.push('Means over ' + f.join(' × ') + ' voxels are shown' +
      (about.smaller ? ', so that the page stays below ' + about.bytes / 1e6 + ' MB' : '') + '.');
    parts.push('Values are kept in steps of ' + number(v.slope) + (v.unit ? ' ' + v.unit : '') + '.');
    if (v.below || v.above) parts.push('A few values ' + (v.below ? 'below ' + number(v.offset) : '') +
      (v.below && v.above ? ' or ' : '') + (v.above ? 'above ' + number(valueOf(v, 255)) : '') + ' are cut off.');
    $('binned').textContent = parts.join(' ');
  };

  // ---- window and level
  const widthPart = (width, range) => Math.sqrt(Math.min(1, width / (range.high - range.low)));
  const showWindow = () => {
    const group = shownGroup(), w = windowOf(group), range = rangeOf(group), unit = mode() === 'right' ? right().unit : left().unit;
    const level = (w.low + w.high) / 2, width = w.high - w.low;
    $('level').value = Number(level.toPrecision(4));
    $('width').value = Number(width.toPrecision(4));
    $('levelSlider').value = 1000 * (level - range.low) / (range.high - range.low);
    $('widthSlider').value = 1000 * widthPart(width, range);
    $('windowOf').textContent = group === 'difference' ? 'Right − left:' : '';
    $('unit').textContent = unit + ' (black ' + number(w.low) + ', white ' + number(w.high) + ')';
  };
  const setWindow = (level, width, group = shownGroup()) => {
    const range = rangeOf(group), least = (range.high - range.low) / 5000;
    if (!Number.isFinite(level) || !Number.isFinite(width)) return;
    const half = Math.max(width, least) / 2;
    state.windows[group] = { low: level - half, high: level + half };
    redraw();
  };
  const autoWindow = () => {
    const group = shownGroup();
    if (group === 'difference') delete state.windows[group];
    else {
      const parts = [left(), right()].filter(v => v && v.group === group).map(v => {
        const histogram = new Float64Array(256);
        for (const plane of planes) if (!plane.figure.hidden) overSlice(plane, v, (to, from) => { ++histogram[v.bytes[from]]; });
        return [v, histogram];
      });
      state.windows[group] = percentiles(parts, 0.005, 0.995);
    }
    redraw();
  };

  // ---- drawing when something changed
  let waiting = false;
  const redrawNow = () => {
    waiting = false;
    for (const plane of planes) if (!plane.figure.hidden) draw(plane);
    showWindow();
    readout(state.at);
  };
  const redraw = () => {
    if (!waiting) { waiting = true; requestAnimationFrame(redrawNow); }
  };
  const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
  const moveTo = (axis, place) => { state.at[axis] = clamp(Math.round(place), 0, left().size[axis] - 1); };
  const setSwipe = part => { state.swipe = clamp(part, 0, 1); $('swipe').value = 1000 * state.swipe; redraw(); };
  const setMode = name => {
    const button = document.querySelector('input[name=mode][value=' + name + ']');
    if (!right() || button.disabled) return;
    button.checked = true;
    state.mode = name;
    redraw();
  };
  const choose = () => {
    const v = left();
    if (state.at.some((x, axis) => x >= v.size[axis]) || !choose.size || !same(choose.size, v.size))
      state.at = v.size.map(n => Math.floor(n / 2));
    choose.size = v.size;
    const others = volumes.map((each, n) => n).filter(n => n !== state.left && comparable(v, volumes[n]));
    if (!others.includes(state.right)) {
      const alike = others.filter(n => volumes[n].group === v.group);
      state.right = alike.length ? alike[0] : others.length ? others[0] : -1;
    }
    $('right').replaceChildren(...others.map(n => new Option(volumes[n].name, n, false, n === state.right)));
    for (const each of document.querySelectorAll('.pair')) each.hidden = state.right < 0;
    $('leftName').textContent = state.right < 0 ? 'Image' : 'Left';
    const difference = document.querySelector('input[value=difference]');
    difference.disabled = !right() || right().group !== v.group;
    if (difference.disabled && state.mode === 'difference') setMode('swipe');
    delete state.windows.difference;
    captions();
    notes();
    redraw();
  };

  // ---- mouse, touch and keys
  const placeOf = (plane, event) => {
    const box = plane.canvas.getBoundingClientRect(), v = left();
    const x = clamp((event.clientX - box.left) / box.width, 0, 1), y = clamp((event.clientY - box.top) / box.height, 0, 1);
    const at = state.at.slice();
    at[plane.h] = Math.min(v.size[plane.h] - 1, Math.floor(x * v.size[plane.h]));
    at[plane.v] = Math.min(v.size[plane.v] - 1, Math.floor(y * v.size[plane.v]));
    return { x, at, near: Math.abs(x - state.swipe) * box.width < 9 };
  };
  const keys = (plane, event) => {
    const steps = { ArrowLeft: [plane.h, -1], ArrowRight: [plane.h, 1], ArrowUp: [plane.v, -1], ArrowDown: [plane.v, 1],
      PageUp: [plane.across, 1], PageDown: [plane.across, -1] };
    const modes = { s: 'swipe', l: 'left', r: 'right', d: 'difference' };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (steps[event.key]) moveTo(steps[event.key][0], state.at[steps[event.key][0]] + steps[event.key][1]);
    else if (event.key === '[' || event.key === ']') setSwipe(state.swipe + (event.key === ']' ? 0.02 : -0.02));
    else if (modes[event.key]) setMode(modes[event.key]);
    else if (event.key === 'a') autoWindow();
    else return;
    event.preventDefault();
    redraw();
  };
  const listen = plane => {
    const canvas = plane.canvas;
    let drag = null;
    canvas.addEventListener('pointerdown', event => {
      const place = placeOf(plane, event);
      canvas.setPointerCapture(event.pointerId);
      canvas.focus({ preventScroll: true });
      if (event.button === 2) {
        const w = windowOf(shownGroup());
        drag = { kind: 'window', x: event.clientX, y: event.clientY, level: (w.low + w.high) / 2, width: w.high - w.low };
      } else if (event.button === 0) {
        drag = { kind: mode() === 'swipe' && place.near ? 'swipe' : 'cross' };
        if (drag.kind === 'cross') { state.at = place.at; redraw(); }
      }
      event.preventDefault();
    });
    canvas.addEventListener('pointermove', event => {
      const place = placeOf(plane, event);
      canvas.style.cursor = mode() === 'swipe' && (place.near || (drag && drag.kind === 'swipe')) ? 'ew-resize' : '';
      if (!drag) return readout(place.at);
      if (drag.kind === 'swipe') setSwipe(place.x);
      else if (drag.kind === 'cross') { state.at = place.at; redraw(); }
      else {
        const range = rangeOf(shownGroup()), perPixel = (range.high - range.low) / 600;
        setWindow(drag.level + (event.clientY - drag.y) * perPixel,
          drag.width * Math.exp((event.clientX - drag.x) / 150));
      }
    });
    const end = () => { drag = null; };
    canvas.addEventListener('pointerup', end);
    canvas.addEventListener('pointercancel', end);
    canvas.addEventListener('pointerleave', () => readout(state.at));
    canvas.addEventListener('contextmenu', event => event.preventDefault());
    canvas.addEventListener('wheel', event => {
      event.preventDefault();
      moveTo(plane.across, state.at[plane.across] + Math.sign(-event.deltaY));
      redraw();
    }, { passive: false });
    canvas.addEventListener('keydown', event => keys(plane, event));
    plane.slider.addEventListener('input', () => { moveTo(plane.across, +plane.slider.value); redraw(); });
  };
  planes.forEach(listen);
  $('left').replaceChildren(...volumes.map((v, n) => new Option(v.name, n)));
  $('left').addEventListener('change', () => { state.left = +$('left').value; choose(); });
  $('right').addEventListener('change', () => { state.right = +$('right').value; choose(); });
  $('modes').addEventListener('change', event => setMode(event.target.value));
  $('swipe').addEventListener('input', () => setSwipe($('swipe').value / 1000));
  for (const id of ['smooth', 'cross']) $(id).addEventListener('change', redraw);
  for (const id of ['level', 'width']) $(id).addEventListener('change', () => setWindow(+$('level').value, +$('width').value));
  $('levelSlider').addEventListener('input', () => {
    const range = rangeOf(shownGroup()), w = windowOf(shownGroup());
    setWindow(range.low + $('levelSlider').value / 1000 * (range.high - range.low), w.high - w.low);
  });
  $('widthSlider').addEventListener('input', () => {
    const range = rangeOf(shownGroup()), w = windowOf(shownGroup());
    setWindow((w.low + w.high) / 2, Math.pow($('widthSlider').value / 1000, 2) * (range.high - range.low));
  });
  $('auto').addEventListener('click', autoWindow);
  $('reset').addEventListener('click', () => { delete state.windows[shownGroup()]; redraw(); });
  $('viewer').hidden = false;
  choose();
  redrawNow();
  new ResizeObserver(redraw).observe($('planes'));
  document.documentElement.dataset.ready = 'yes';
})();
