// The timeline: lanes on a canvas, drawn anew whenever something changes.

const gutter = 190, topRoom = 26, laneHeight = 26, arrowsAtMost = 6000;

function newTimeline(app) {
	const canvas = $('canvas'), paper = canvas.getContext('2d');
	const line = { x0: 0, x1: 1, top: 0, hits: [] };
	let wanted = false;

	line.draw = () => {
		if (wanted) return;
		wanted = true;
		requestAnimationFrame(() => { wanted = false; paint(); });
	};

	const width = () => canvas.clientWidth - gutter;
	line.toX = (t) => gutter + (app.scale.place(t) - line.x0) / (line.x1 - line.x0) * width();
	line.toTime = (x) => app.scale.time(line.x0 + (x - gutter) / width() * (line.x1 - line.x0));
	const toY = (lane) => topRoom + lane * laneHeight - line.top + laneHeight / 2;

	line.fit = () => {
		const first = app.model.events.n ? app.scale.place(Math.min(app.model.events.at[0], app.model.elapsed)) : 0;
		const last = app.scale.place(app.model.elapsed), room = Math.max(1, (last - first) * 0.02);
		line.x0 = first - room;
		line.x1 = last + room;
		line.draw();
	};
	line.zoom = (factor, x = gutter + width() / 2) => {
		const share = (x - gutter) / width(), at = line.x0 + share * (line.x1 - line.x0);
		const wide = Math.max((line.x1 - line.x0) * factor, 1e-3);
		line.x0 = at - share * wide;
		line.x1 = line.x0 + wide;
		line.draw();
	};
	line.move = (dx, dy) => {
		const shift = dx / width() * (line.x1 - line.x0);
		line.x0 += shift;
		line.x1 += shift;
		const most = Math.max(0, app.model.lanes.length * laneHeight + topRoom + 10 - canvas.clientHeight);
		line.top = Math.min(most, Math.max(0, line.top + dy));
		line.draw();
	};
	// show brings an event into sight.
	line.show = (i) => {
		const place = app.scale.place(app.model.events.at[i]), wide = line.x1 - line.x0;
		if (place < line.x0 || place > line.x1) {
			// What led to an event matters more than what came after it.
			line.x0 = place - wide * 0.7;
			line.x1 = line.x0 + wide;
		}
		const y = toY(app.model.events.lane[i]);
		if (y < topRoom + laneHeight || y > canvas.clientHeight - laneHeight) line.move(0, y - canvas.clientHeight / 2);
		line.draw();
	};

	const colours = () => {
		const style = getComputedStyle(document.documentElement);
		return (name) => style.getPropertyValue('--' + name).trim() || style.getPropertyValue('--sys').trim();
	};

	function paint() {
		const ratio = window.devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
		canvas.width = w * ratio;
		canvas.height = h * ratio;
		paper.setTransform(ratio, 0, 0, ratio, 0, 0);
		const colour = colours();
		paper.fillStyle = colour('back');
		paper.fillRect(0, 0, w, h);
		paper.font = '12px system-ui, sans-serif';
		paper.textBaseline = 'middle';
		paintLanes(w, h, colour);
		paper.save();
		paper.beginPath();
		paper.rect(gutter, 0, w - gutter, h);
		paper.clip();
		paintBands(w, h, colour);
		paintTicks(w, h, colour);
		paintMoments(h, colour);
		paintArrows(w, h, colour);
		paintEvents(w, h, colour);
		paper.restore();
		paintNames(h, colour);
	}

	function paintLanes(w, h, colour) {
		let stripe = false, group = null;
		app.model.lanes.forEach((lane, i) => {
			const name = lane.group || lane.name;
			if (name !== group) {
				stripe = !stripe;
				group = name;
			}
			const y = toY(i);
			if (y < -laneHeight || y > h + laneHeight) return;
			if (stripe) {
				paper.fillStyle = colour('stripe');
				paper.fillRect(0, y - laneHeight / 2, w, laneHeight);
			}
			paper.fillStyle = colour('line');
			paper.fillRect(gutter, y, w - gutter, 0.5);
		});
	}

	function paintBands(w, h, colour) {
		for (const b of app.model.bands) {
			const y = toY(b.lane), x = Math.max(gutter - 2, line.toX(b.from)), end = Math.min(w + 2, line.toX(b.to));
			if (end < gutter || x > w || y < 0 || y > h) continue;
			paper.fillStyle = colour(b.kind + 'band');
			const high = b.kind === 'fault' ? laneHeight - 6 : 8;
			paper.fillRect(x, y - high / 2, Math.max(end - x, 2), high);
			if (end - x > 60) {
				paper.fillStyle = colour('faint');
				paper.save();
				paper.beginPath();
				paper.rect(x, y - laneHeight / 2, end - x - 4, laneHeight);
				paper.clip();
				paper.font = '10px system-ui, sans-serif';
				paper.fillText(b.label, x + 4, y - laneHeight / 2 + 6);
				paper.restore();
			}
		}
	}

	function paintTicks(w, h, colour) {
		paper.fillStyle = colour('panel');
		paper.fillRect(gutter, 0, w, topRoom - 4);
		for (let x = gutter + 50; x < w - 20; x += 110) {
			const t = line.toTime(x);
			if (t < 0 || t > app.model.elapsed) continue;
			paper.fillStyle = colour('line');
			paper.fillRect(x, topRoom - 8, 1, h);
			paper.fillStyle = colour('faint');
			paper.textAlign = 'center';
			paper.fillText(clockText(t), x, 11);
		}
		paper.textAlign = 'left';
	}

	function paintMoments(h, colour) {
		if (app.model.brokenAt !== null) {
			const x = line.toX(app.model.brokenAt);
			paper.fillStyle = colour('bad');
			paper.fillRect(x - 1, topRoom - 8, 2, h);
			paper.textAlign = x > canvas.clientWidth - 120 ? 'right' : 'left';
			paper.fillText(app.model.run.property ? 'property broken' : 'failed', x + (paper.textAlign === 'right' ? -4 : 4), h - 10);
			paper.textAlign = 'left';
		}
		if (app.selected >= 0) {
			paper.fillStyle = colour('accent');
			paper.fillRect(line.toX(app.model.events.at[app.selected]) - 0.5, topRoom - 8, 1, h);
		}
	}

	function paintArrows(w, h, colour) {
		const a = app.model.arrows, from = line.toTime(gutter), to = line.toTime(w);
		const first = after(a.at, from), last = after(a.at, to + a.slowest);
		if (last - first > arrowsAtMost) {
			paper.fillStyle = colour('faint');
			paper.fillText('zoom in to see requests and watch events as arrows', gutter + 10, h - 10);
			return;
		}
		const about = app.selected >= 0 ? app.model.events.object[app.selected] : '';
		for (let i = first; i < last; i++) {
			const sent = a.at[i] - a.took[i];
			if (sent > to || !app.shownKinds.has(a.kind[i] === 'watch' ? 'watch' : 'api')) continue;
			const y0 = toY(a.from[i]), y1 = toY(a.to[i]);
			if (Math.max(y0, y1) < 0 || Math.min(y0, y1) > h) continue;
			paper.strokeStyle = a.bad[i] ? colour('bad') : colour(a.kind[i] === 'watch' ? 'watch' : 'api');
			paper.globalAlpha = about && a.object[i] === about ? 0.95 : app.query || about ? 0.22 : 0.5;
			paper.lineWidth = about && a.object[i] === about ? 1.6 : 1;
			paper.setLineDash(a.kind[i] === 'answer' ? [3, 3] : []);
			arrow(line.toX(sent), y0, line.toX(a.at[i]), y1);
		}
		paper.globalAlpha = 1;
		paper.setLineDash([]);
	}

	function arrow(x0, y0, x1, y1) {
		const long = Math.hypot(x1 - x0, y1 - y0) || 1, dx = (x1 - x0) / long, dy = (y1 - y0) / long;
		const x = x1 - dx * 4, y = y1 - dy * 4;
		paper.beginPath();
		paper.moveTo(x0, y0);
		paper.lineTo(x, y);
		paper.moveTo(x - dx * 6 - dy * 3, y - dy * 6 + dx * 3);
		paper.lineTo(x, y);
		paper.lineTo(x - dx * 6 + dy * 3, y - dy * 6 - dx * 3);
		paper.stroke();
	}

	function paintEvents(w, h, colour) {
		const e = app.model.events, first = after(e.at, line.toTime(gutter - 6) - 1), last = after(e.at, line.toTime(w + 6));
		const taken = new Set();
		line.hits = [];
		for (let i = first; i < last; i++) {
			const y = toY(e.lane[i]), x = line.toX(e.at[i]), shown = app.shows(i);
			if (y < topRoom - 8 || y > h || !shown && !app.query) continue;
			const spot = e.lane[i] * 65536 + Math.round(x / 2);
			if (taken.has(spot) && i !== app.selected && !e.bad[i]) continue;
			taken.add(spot);
			paper.globalAlpha = shown ? 1 : 0.12;
			paper.fillStyle = colour(e.kind[i]);
			paper.beginPath();
			paper.arc(x, y, i === app.selected ? 6 : 3.5, 0, 7);
			paper.fill();
			if (e.bad[i] || i === app.selected) {
				paper.strokeStyle = e.bad[i] ? colour('bad') : colour('text');
				paper.lineWidth = 2;
				paper.stroke();
			}
			if (shown) line.hits.push([x, y, i]);
		}
		paper.globalAlpha = 1;
	}

	function paintNames(h, colour) {
		paper.fillStyle = colour('panel');
		paper.fillRect(0, 0, gutter, h);
		paper.fillStyle = colour('line');
		paper.fillRect(gutter - 1, 0, 1, h);
		let group = null;
		app.model.lanes.forEach((lane, i) => {
			const y = toY(i), fresh = lane.group !== group;
			group = lane.group;
			if (y < -laneHeight || y > h + laneHeight) return;
			paper.fillStyle = app.only === i ? colour('accent') : colour('text');
			const name = lane.group && lane.kind !== 'node' ? lane.label : lane.name;
			paper.font = (lane.kind === 'node' || lane.kind === 'server' ? '600 ' : '') + '12px system-ui, sans-serif';
			paper.fillText(shorten(name, gutter - 90), 8 + (lane.kind === 'process' ? 10 : 0), y);
			if (fresh && lane.group && lane.kind !== 'node') {
				paper.fillStyle = colour('faint');
				paper.font = '10px system-ui, sans-serif';
				paper.textAlign = 'right';
				paper.fillText(shorten(lane.group, 76), gutter - 6, y);
				paper.textAlign = 'left';
			}
		});
	}

	function shorten(text, room) {
		while (text.length > 4 && paper.measureText(text).width > room) text = text.slice(0, -2) + '…';
		return text;
	}

	// nearest is the event at a point of the canvas, or -1.
	line.nearest = (x, y) => {
		let best = -1, least = 12;
		for (const [hx, hy, i] of line.hits) {
			const far = Math.hypot(hx - x, hy - y);
			if (far < least) [best, least] = [i, far];
		}
		return best;
	};
	line.laneAt = (y) => {
		const i = Math.floor((y - topRoom + line.top) / laneHeight);
		return i >= 0 && i < app.model.lanes.length ? i : -1;
	};
	line.bandAt = (x, y) => {
		const lane = line.laneAt(y), t = line.toTime(x);
		return app.model.bands.find((b) => b.lane === lane && b.from <= t && t <= b.to);
	};
	listen(app, line, canvas);
	return line;
}

function listen(app, line, canvas) {
	const place = $('timeline'), tip = $('tip');
	let grip = null, moved = 0;
	const point = (ev) => {
		const r = canvas.getBoundingClientRect();
		return [ev.clientX - r.left, ev.clientY - r.top];
	};
	place.addEventListener('wheel', (ev) => {
		ev.preventDefault();
		if (ev.ctrlKey || ev.metaKey) line.zoom(Math.exp(ev.deltaY * 0.0022), point(ev)[0]);
		else line.move(ev.shiftKey ? ev.deltaY : ev.deltaX, ev.shiftKey ? 0 : ev.deltaY);
	}, { passive: false });
	place.addEventListener('pointerdown', (ev) => {
		grip = point(ev);
		moved = 0;
		place.classList.add('drag');
	});
	window.addEventListener('pointerup', (ev) => {
		if (!grip) return;
		grip = null;
		place.classList.remove('drag');
		if (moved > 4) return;
		const [x, y] = point(ev);
		if (x < gutter) return app.onlyLane(line.laneAt(y));
		const i = line.nearest(x, y);
		if (i >= 0) app.select(i);
	});
	place.addEventListener('pointermove', (ev) => {
		const [x, y] = point(ev);
		if (grip) {
			moved += Math.abs(x - grip[0]) + Math.abs(y - grip[1]);
			line.move(grip[0] - x, grip[1] - y);
			grip = [x, y];
			tip.hidden = true;
			return;
		}
		const i = line.nearest(x, y), band = i < 0 && x > gutter ? line.bandAt(x, y) : null;
		tip.hidden = i < 0 && !band;
		if (tip.hidden) return;
		const e = app.model.events;
		tip.textContent = i >= 0 ? clockText(e.at[i]) + '  ' + app.model.lanes[e.lane[i]].name + ': ' + e.text[i]
			: band.label + ' from ' + clockText(band.from) + ' to ' + clockText(band.to);
		tip.style.left = Math.min(x + 14, canvas.clientWidth - Math.min(430, canvas.clientWidth / 2)) + 'px';
		tip.style.top = (y > canvas.clientHeight - 90 ? y - 60 : y + 14) + 'px';
	});
	place.addEventListener('pointerleave', () => { tip.hidden = true; });
	new ResizeObserver(() => line.draw()).observe(place);
}
