package cluster

import (
	"encoding/json"
	"hash/fnv"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// Write is a change that an API server has carried out, as [Config.Digest] keeps
// it.
type Write struct {
	Actor     string // the process, or empty for the driver of the run
	Verb, Key string
	Content   uint64 // a hash of what came of it, with all that was written
}

// Written returns what was written so far, in order, if Config.Digest is set. The
// hash of a run tells who wrote what and when, but not the content.
func (c *Cluster) Written() []Write { return c.written }

// wrote remembers a write if that is asked for.
func (c *Cluster) wrote(actor string, req *apiserver.Request, resp *apiserver.Response) {
	if !c.cfg.Digest {
		return
	}
	w := Write{Actor: actor, Verb: c.keys.verb(req), Key: c.keys.of(req)}
	if resp.Object != nil {
		h := fnv.New64a()
		// JSON sorts the keys of maps, whose order means nothing. What cannot be
		// encoded has no content to compare.
		_ = json.NewEncoder(h).Encode(resp.Object)
		w.Content = h.Sum64()
	}
	c.written = append(c.written, w)
}
