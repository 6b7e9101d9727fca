package report_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The page in a real browser, used with the keyboard.
func TestPageInABrowser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.html")
	if err := os.WriteFile(path, []byte(html(t, lostUpdate())), 0o644); err != nil {
		t.Fatal(err)
	}
	page := openPage(t, path)
	text := func(selector string) string {
		t.Helper()
		s, _ := page.eval(`document.querySelector('` + selector + `').innerText`).(string)
		return s
	}
	shows := func(selector, want string) {
		t.Helper()
		if got := text(selector); !strings.Contains(got, want) {
			t.Errorf("%s shows %q, want %q in it", selector, got, want)
		}
	}
	selected := func(want string) {
		t.Helper()
		shows("#now", want)
		shows(`.row[aria-selected="true"]`, want)
	}

	shows("h1", "lost-update violates counts")
	shows("#facts", "seed 7")
	shows("#facts", "seedbed replay lost-update-seed7.replay.json")
	shows("#meaning", "each of them adds one. Seen at 0:00.030: two writes, and the counter is 1")
	shows("#count", "12 events")
	selected("property broken") // a failing run opens at its failure
	shows("#objects", "configmaps/default/counter")
	shows("#diff", "-   n: 0\n+   n: 1")
	page.screenshot("failure")

	page.press("ArrowLeft")
	selected("update configmaps/default/counter -> 409 Conflict")
	page.press("Home")
	selected("starts")
	page.press("ArrowRight")
	selected("starts")
	page.press("End")
	selected("property broken")

	page.press("/")
	for _, key := range "409" {
		page.press(string(key))
	}
	page.await(`document.querySelector('#count').innerText === '1 of 12 events'`)
	page.press("Enter")
	page.press("Home")
	selected("409 Conflict")
	page.press("Escape")
	page.await(`document.querySelector('#count').innerText === '12 events'`)

	page.eval(`document.querySelector('#kinds button').click()`) // the requests
	shows("#count", "10 of 12 events")
	page.eval(`document.querySelector('#kinds button').click()`)

	page.press("f")
	selected("property broken")
	page.press("s")
	shows("#scale", "Spaced by time")
	page.screenshot("by-time")
	page.press("?")
	if open := page.eval(`document.querySelector('#keys').open`); open != true {
		t.Error("? does not show the keys")
	}
	page.press("Escape")

	// What the address remembers comes back when the page is opened with it.
	address, _ := page.eval(`location.hash`).(string)
	if !strings.Contains(address, "event=11") || !strings.Contains(address, "spacing=time") {
		t.Errorf("the address remembers %q, want the event and the spacing", address)
	}

	inked := `(() => { const c = document.querySelector('#canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
		const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size; })()`
	page.await(inked + " > 20")

	page.dark(true)
	page.eval(`document.documentElement.dataset.ready = 'no', location.reload()`)
	page.await(`document.documentElement.dataset.ready === 'yes'`)
	if dark := page.eval(`document.documentElement.classList.contains('dark')`); dark != true {
		t.Error("a page for somebody who prefers dark pages is light")
	}
	selected("property broken")
	page.screenshot("dark")

	if len(page.faults) > 0 {
		t.Errorf("the page is not all right: %s", page.faults)
	}
}
