// The story: every event in words, as a list that holds only the rows in sight.

const rowHeight = 40;

function newStory(app) {
	const place = $('story'), rows = $('rows'), room = $('room');
	const story = { shown: [] };

	story.fill = () => {
		story.shown = [];
		for (let i = 0; i < app.model.events.n; i++) if (app.shows(i)) story.shown.push(i);
		room.style.height = story.shown.length * rowHeight + 'px';
		$('count').textContent = story.shown.length === app.model.events.n ? count(story.shown.length, 'event')
			: story.shown.length.toLocaleString('en') + ' of ' + count(app.model.events.n, 'event');
		story.paint();
	};

	story.paint = () => {
		const first = Math.max(0, Math.floor(place.scrollTop / rowHeight) - 5);
		const last = Math.min(story.shown.length, first + Math.ceil(place.clientHeight / rowHeight) + 10);
		rows.style.top = first * rowHeight + 'px';
		rows.replaceChildren(...story.shown.slice(first, last).map(row));
	};

	function row(i) {
		const e = app.model.events, div = element('div', 'row' + (e.bad[i] ? ' bad' : ''));
		div.style.setProperty('--dot', 'var(--' + e.kind[i] + ', var(--sys))');
		div.setAttribute('role', 'option');
		div.setAttribute('aria-selected', i === app.selected);
		div.title = e.text[i];
		div.append(element('div', 'who', clockText(e.at[i]) + '  ' + app.model.lanes[e.lane[i]].name), element('div', 'what', e.text[i]));
		div.addEventListener('click', () => app.select(i));
		return div;
	}

	// show brings the selected event into sight.
	story.show = () => {
		const at = after(story.shown, app.selected - 1) * rowHeight;
		if (at < place.scrollTop || at > place.scrollTop + place.clientHeight - rowHeight) {
			place.scrollTop = at - place.clientHeight / 2;
		}
		story.paint();
		now();
	};

	function now() {
		const e = app.model.events, i = app.selected;
		if (i < 0) return;
		const head = element('div', 'faint', clockText(e.at[i]) + ' · ' + app.model.lanes[e.lane[i]].name + ' · ' + e.kind[i]);
		$('now').replaceChildren(head, element('b', '', e.text[i]));
	}

	place.addEventListener('scroll', story.paint);
	new ResizeObserver(story.paint).observe(place);
	return story;
}

function element(tag, name, text) {
	const el = document.createElement(tag);
	if (name) el.className = name;
	if (text !== undefined) el.textContent = text;
	return el;
}

function count(n, thing) {
	return n.toLocaleString('en') + ' ' + thing + (n === 1 ? '' : 's');
}
