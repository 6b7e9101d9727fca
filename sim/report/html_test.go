package report_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seedbed-sim/seedbed/sim/cluster"
	"github.com/seedbed-sim/seedbed/sim/engine"
	"github.com/seedbed-sim/seedbed/sim/report"
)

func html(t testing.TB, run *report.Run) string {
	t.Helper()
	var page bytes.Buffer
	if err := report.WriteHTML(&page, report.Draw(run)); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

// shown is what the page's script gets to read.
type shown struct {
	Left    []string         `json:"left"`
	Strings []string         `json:"strings"`
	Events  map[string][]int `json:"events"`
	States  map[string][]int `json:"states"`
}

var dataElement = regexp.MustCompile(`<script id="data"[^>]*>([^<]*)</script>`)

func dataOf(t testing.TB, page string) shown {
	t.Helper()
	m := dataElement.FindStringSubmatch(page)
	if m == nil {
		t.Fatal("the page has no data")
	}
	unzip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(m[1])))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzip)
	if err != nil {
		t.Fatal(err)
	}
	var got shown
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPageHoldsTheRun(t *testing.T) {
	run := lostUpdate()
	got := dataOf(t, html(t, run))
	var texts []string
	at, times := 0, []int{}
	for i, text := range got.Events["text"] {
		texts = append(texts, got.Strings[text])
		at += got.Events["at"][i]
		times = append(times, at)
	}
	var wantTexts []string
	var wantTimes []int
	for _, e := range report.Draw(run).Events {
		wantTexts = append(wantTexts, e.Text)
		wantTimes = append(wantTimes, int(e.At/time.Microsecond))
	}
	if diff := cmp.Diff(wantTexts, texts); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantTimes, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if len(got.Left) != 0 {
		t.Errorf("something was left out of a short run: %q", got.Left)
	}
}

func TestPageNeedsNothingElse(t *testing.T) {
	page := dataElement.ReplaceAllString(html(t, lostUpdate()), "")
	for _, reach := range []string{"http:", "https:", "//cdn", " src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("} {
		if strings.Contains(page, reach) {
			t.Errorf("the page contains %q", reach)
		}
	}
}

func TestWordsOfARunAreNotMarkup(t *testing.T) {
	const attack = `</script><script>alert(1)</script>`
	run := lostUpdate()
	run.Title = attack
	run.Records[0].Detail = attack
	page := html(t, run)
	if strings.Contains(page, attack) {
		t.Error("words of the run stand in the page as markup")
	}
	if got := dataOf(t, page); got.Strings[got.Events["text"][0]] != attack {
		t.Errorf("the words are %q, want them as they are", got.Strings[got.Events["text"][0]])
	}
}

// long is a run of so many events by twenty processes, each write with a new state.
func long(events int) *report.Run {
	draw := rand.New(rand.NewPCG(1, 2))
	run := &report.Run{Title: "long", Seed: 1, Hash: "1"}
	at := time.Duration(0)
	for i := range events {
		at += time.Duration(draw.IntN(int(20 * time.Millisecond)))
		actor := fmt.Sprintf("node-%d/agent", draw.IntN(20)+1)
		object := fmt.Sprintf("configmaps/default/c%d", draw.IntN(200))
		state := fmt.Sprintf(`{"metadata":{"name":"x","uid":"%x"},"data":{"a":"%x"}}`, draw.Uint64(), draw.Uint64())
		run.Records = append(run.Records,
			engine.Record{Step: uint64(i), At: at, Kind: cluster.NoteState, Actor: actor, Verb: "write", Object: object, N: uint64(i), State: state},
			engine.Record{Step: uint64(i), At: at, Kind: cluster.NoteCall, Actor: actor, Peer: "apiserver-0", Verb: "update", Object: object, N: 200, Since: at - 1000},
			engine.Record{Step: uint64(i), At: at, Kind: "api", Actor: actor, Verb: "update", Object: object, N: 200, Detail: "update " + object + " -> ok"},
		)
	}
	run.Elapsed = at
	return run
}

func TestLongRunFitsIntoAPage(t *testing.T) {
	const events = 40_000
	page := html(t, long(events))
	if len(page) > report.PageLimit {
		t.Errorf("the page has %d bytes, the limit is %d", len(page), report.PageLimit)
	}
	got := dataOf(t, page)
	if len(got.Left) != 1 || !strings.HasPrefix(got.Left[0], "states of objects from before ") {
		t.Errorf("left out: %q, want the oldest states", got.Left)
	}
	if n := len(got.Events["at"]); n != events {
		t.Errorf("%d of %d events are kept", n, events)
	}
	if n := len(got.States["at"]); n < 1000 || n == events {
		t.Errorf("%d of %d states are kept, want the latest", n, events)
	}
}

// Words that do not repeat do not compress, so even the events do not fit.
func TestVeryLongRunLosesItsBeginning(t *testing.T) {
	run := long(30_000)
	draw := rand.New(rand.NewPCG(3, 4))
	for i := range run.Records {
		if run.Records[i].Detail != "" {
			run.Records[i].Detail = fmt.Sprintf("%x%x%x%x%x%x", draw.Uint64(), draw.Uint64(), draw.Uint64(), draw.Uint64(), draw.Uint64(), draw.Uint64())
		}
	}
	page := html(t, run)
	if len(page) > report.PageLimit {
		t.Errorf("the page has %d bytes, the limit is %d", len(page), report.PageLimit)
	}
	got := dataOf(t, page)
	if len(got.Left) != 2 || got.Left[0] != "the states of objects" || !strings.HasPrefix(got.Left[1], "what came before ") {
		t.Errorf("left out: %q, want the states and what came before some moment", got.Left)
	}
	if n := len(got.Events["text"]); n < 1000 || got.Strings[got.Events["text"][n-1]] != run.Records[len(run.Records)-1].Detail {
		t.Errorf("%d events are kept, want some thousands, with the last", n)
	}
}

// BenchmarkPage draws a run of 100,000 events.
func BenchmarkPage(b *testing.B) {
	run := long(100_000)
	b.ReportAllocs()
	for b.Loop() {
		b.ReportMetric(float64(len(html(b, run))), "bytes/page")
	}
}
