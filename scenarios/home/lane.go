package home

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/grant"
)

type hash = [sha256.Size]byte

// grantsDir is what has been in a Pod's grants directory.
type grantsDir struct {
	volumes *volumes
	had     bool            // grant.jwt has been there
	files   map[string]file // that are there
	seen    map[hash]int    // how often a file got this content
	absent  map[string]int  // how often a grant was in no file any more, by UID
}

type file struct {
	content hash
	uid     string // empty: it is no grant
	peeked  grant.Peeked
}

const grantName = "grant.jwt"

func (d *grantsDir) start(v *volumes) {
	*d = grantsDir{volumes: v, files: map[string]file{}, seen: map[hash]int{}, absent: map[string]int{}}
}

// resume looks at what a container finds at its start: a node may have lost power.
func (d *grantsDir) resume() {
	problem := d.look(false)
	d.had = d.files[grantName].uid != ""
	if problem != nil {
		s := d.volumes.pod.lives[len(d.volumes.pod.lives)-1].state
		s.breaks(grantFileIsWhole, fmt.Errorf("pod %s finds this at its start: %w", d.volumes.pod.slot.name, problem))
	}
}

// look takes in what is in the directory, and returns what no reader may see there. A
// home itself never removes its grant.
func (d *grantsDir) look(own bool) error {
	disk, dir := d.volumes.node.Disk(), d.volumes.grants()
	before := d.files
	d.files = map[string]file{}
	var problem error
	for _, name := range disk.List(dir) {
		if !strings.HasSuffix(name, ".jwt") {
			continue
		}
		data, err := disk.ReadFile(path.Join(dir, name))
		if err != nil {
			continue
		}
		f := file{content: sha256.Sum256(data)}
		if p, err := grant.Peek(data); err == nil {
			f.uid, f.peeked = p.UID, p
		} else if name == grantName {
			problem = errors.New("grant.jwt is not a whole grant")
		}
		if old, there := before[name]; !there || old.content != f.content {
			d.seen[f.content]++
		}
		d.files[name] = f
	}
	_, there := d.files[grantName]
	if own && d.had && !there {
		problem = errors.New("grant.jwt is gone")
	}
	d.had = d.had || there
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if uid := before[name].uid; uid != "" && !d.carries(uid) {
			d.absent[uid]++
		}
	}
	return problem
}

func (d *grantsDir) carries(uid string) bool {
	for _, f := range d.files {
		if f.uid == uid {
			return true
		}
	}
	return false
}

// holds reports whether there is a grant with that UID that has not expired.
func (d *grantsDir) holds(uid string, now time.Time) bool {
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		if f := d.files[name]; f.uid == uid && !f.peeked.Expired(now) {
			return true
		}
	}
	return false
}

// lane is what the lane of a home has said.
type lane struct {
	dir       *grantsDir
	base      map[hash]int // contents that had been there before
	delivered map[hash]int
	absent    map[string]int // of the directory, when the grant was said to be there last
	added     int
	removed   []string

	missing string // a file that was seen to be untold
	missed  time.Duration
}

func (n *lane) begin(d *grantsDir) {
	*n = lane{dir: d, base: map[hash]int{}, delivered: map[hash]int{}, absent: map[string]int{}}
	for h, times := range d.seen {
		n.base[h] = times
	}
	for _, f := range d.files {
		n.base[f.content]-- // it is there still, so it is to be said
	}
}

// observeLane reads a lane of its own: each has its own memory.
func (l *life) observeLane(ctx context.Context, h *home.Home) {
	events, err := h.Grants(ctx)
	if err != nil || events == nil {
		l.breaks(eachContentOnce, "there is no grant lane: %v", err)
		return
	}
	for {
		ev, err := events.Next(ctx)
		if err != nil {
			return
		}
		if ev.Kind == home.GrantRemoved {
			l.removed(ev.UID)
		} else {
			l.added(ev.Token.Reveal())
		}
		l.env.Touch()
	}
}

func (l *life) added(content []byte) {
	n := &l.lane
	h := sha256.Sum256(content)
	n.added++
	n.delivered[h]++
	if p, err := grant.Peek(content); err == nil {
		n.absent[p.UID] = n.dir.absent[p.UID]
	}
	if came := n.dir.seen[h] - n.base[h]; n.delivered[h] > came {
		l.breaks(eachContentOnce, "a grant is added %d times, and was written %d times", n.delivered[h], came)
	}
}

func (l *life) removed(uid string) {
	n := &l.lane
	n.removed = append(n.removed, uid)
	if n.dir.absent[uid] == n.absent[uid] {
		l.breaks(removedMeansGone, "a grant is removed that has been in a file ever since it was added")
	}
}

// undelivered returns the name of a file whose content no event has told, or "".
func (l *life) undelivered() string {
	for _, name := range slices.Sorted(maps.Keys(l.lane.dir.files)) {
		if l.lane.delivered[l.lane.dir.files[name].content] == 0 {
			return name
		}
	}
	return ""
}
