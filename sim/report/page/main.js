// What is shown, and the keys and links that change it.

loadRun().then(start, (err) => { $('meaning').hidden = false; $('meaning').textContent = 'This page cannot be read: ' + err; });

function start(model) {
	const kinds = [...new Set(model.events.kind)].sort();
	const app = { model, selected: -1, query: '', only: -1, shownKinds: new Set(kinds), scales: { event: eventScale(model), time: timeScale() }, spacing: 'event' };
	app.scale = app.scales.event;
	app.cursor = () => app.selected < 0 ? model.elapsed : model.events.at[app.selected];
	app.shows = (i) => {
		const e = model.events;
		if (!app.shownKinds.has(e.kind[i]) || app.only >= 0 && e.lane[i] !== app.only) return false;
		return !app.query || e.text[i].toLowerCase().includes(app.query) || model.lanes[e.lane[i]].name.toLowerCase().includes(app.query);
	};
	const line = newTimeline(app), story = newStory(app), objects = newObjects(app);

	app.select = (i) => {
		app.selected = i;
		line.show(i);
		story.show();
		objects.paint();
		remember();
	};
	app.onlyLane = (i) => {
		app.only = app.only === i ? -1 : i;
		refilter();
	};
	const refilter = () => {
		story.fill();
		line.draw();
		objects.paint();
		remember();
	};
	const search = (text) => {
		app.query = text.trim().toLowerCase();
		refilter();
	};
	const space = (how) => {
		app.spacing = how;
		app.scale = app.scales[how];
		$('scale').textContent = how === 'event' ? 'Spaced by events' : 'Spaced by time';
		line.fit();
		if (app.selected >= 0) line.show(app.selected);
		remember();
	};
	const dark = (on) => {
		document.documentElement.classList.toggle('dark', on);
		line.draw();
	};

	// step goes to the next event in sight, or the one before; on the same lane if asked.
	const step = (by, sameLane) => {
		const e = model.events, lane = app.selected < 0 ? -1 : e.lane[app.selected];
		for (let i = app.selected < 0 ? (by > 0 ? 0 : e.n - 1) : app.selected + by; i >= 0 && i < e.n; i += by) {
			if (app.shows(i) && (!sameLane || e.lane[i] === lane)) return app.select(i);
		}
	};
	// failure is the event that tells of the failure, or the last before it.
	const failure = () => {
		const told = model.events.kind.lastIndexOf('prop');
		return told >= 0 ? told : after(model.events.at, model.brokenAt) - 1;
	};

	function remember() {
		const parts = new URLSearchParams();
		if (app.selected >= 0) parts.set('event', app.selected);
		if (app.query) parts.set('q', app.query);
		if (app.only >= 0) parts.set('lane', model.lanes[app.only].name);
		if (app.spacing !== 'event') parts.set('spacing', app.spacing);
		history.replaceState(null, '', '#' + parts);
	}
	function recall() {
		const parts = new URLSearchParams(location.hash.slice(1));
		app.only = model.lanes.findIndex((l) => l.name === parts.get('lane'));
		$('query').value = parts.get('q') || '';
		app.query = $('query').value.toLowerCase();
		if (parts.has('theme')) dark(parts.get('theme') === 'dark');
		space(parts.get('spacing') === 'time' ? 'time' : 'event');
		const given = Number(parts.get('event') || -1);
		return parts.has('event') && given >= 0 && given < model.events.n ? given : -1;
	}

	const keys = {
		ArrowRight: (ev) => step(1, ev.shiftKey), ArrowLeft: (ev) => step(-1, ev.shiftKey),
		ArrowDown: () => step(1), ArrowUp: () => step(-1),
		Home: () => { app.selected = -1; step(1); }, End: () => { app.selected = -1; step(-1); },
		f: () => model.brokenAt !== null && app.select(Math.max(0, failure())),
		'+': () => line.zoom(0.6), '=': () => line.zoom(0.6), '-': () => line.zoom(1 / 0.6), 0: () => line.fit(),
		s: () => space(app.spacing === 'event' ? 'time' : 'event'),
		t: () => dark(!document.documentElement.classList.contains('dark')),
		'/': () => $('query').focus(), '?': () => $('keys').showModal(),
		Escape: () => { $('query').value = ''; app.only = -1; search(''); },
	};
	document.addEventListener('keydown', (ev) => {
		if ($('keys').open || ev.ctrlKey || ev.metaKey || ev.altKey) return;
		if (ev.target === $('query') && ev.key !== 'Escape' && ev.key !== 'Enter') return;
		if (ev.key === 'Enter' && ev.target === $('query')) return $('timeline').focus();
		if (ev.key === 'Escape') $('timeline').focus();
		if (!Object.hasOwn(keys, ev.key)) return;
		ev.preventDefault();
		keys[ev.key](ev);
	});
	$('query').addEventListener('input', () => search($('query').value));
	$('in').addEventListener('click', keys['+']);
	$('out').addEventListener('click', keys['-']);
	$('fit').addEventListener('click', keys[0]);
	$('scale').addEventListener('click', keys.s);
	$('theme').addEventListener('click', keys.t);
	$('help').addEventListener('click', keys['?']);
	$('fault').addEventListener('click', keys.f);
	for (const kind of kinds) {
		const b = element('button', '', kindNames[kind] || kind);
		b.type = 'button';
		b.style.setProperty('--dot', 'var(--' + kind + ', var(--sys))');
		b.setAttribute('aria-pressed', 'true');
		b.addEventListener('click', () => {
			const on = !app.shownKinds.delete(kind);
			if (on) app.shownKinds.add(kind);
			b.setAttribute('aria-pressed', on);
			refilter();
		});
		$('kinds').append(b);
	}

	introduce(model);
	dark(matchMedia('(prefers-color-scheme: dark)').matches);
	const chosen = recall();
	story.fill();
	if (chosen >= 0) app.select(chosen);
	else if (model.brokenAt !== null && model.events.n) {
		if (model.events.n > 400) line.zoom(200 / model.events.n);
		app.select(Math.max(0, failure()));
	} else objects.paint();
	document.documentElement.dataset.ready = 'yes';
}

const kindNames = {
	api: 'requests', watch: 'watches', fault: 'faults', proc: 'processes', sys: 'programs', story: 'story', prop: 'properties', disk: 'disks', input: 'visitors',
};

// introduce fills the head of the page.
function introduce(model) {
	const r = model.run;
	$('verdict').classList.toggle('bad', model.brokenAt !== null);
	$('facts').textContent = ['seed ' + r.seed, clockText(model.elapsed) + ' of virtual time', count(r.steps, 'step'), r.hash ? 'hash ' + r.hash : ''].filter(Boolean).join(' · ');
	if (r.again) $('facts').append(' · again: ', element('code', '', r.again));
	$('fault').hidden = model.brokenAt === null;
	const text = r.property ? [r.meaning, 'Seen at ' + clockText(model.brokenAt) + ': ' + r.found].filter(Boolean).join(' ') : r.error;
	$('meaning').hidden = !text;
	$('meaning').textContent = text || '';
	$('left').hidden = !model.left.length;
	$('left').textContent = 'This run is too long for one page. Left out: ' + model.left.join('; ') + '.';
}
