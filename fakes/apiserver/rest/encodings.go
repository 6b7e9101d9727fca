package rest

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// encodings remembers how objects of watch events look on the wire, so that an
// event which many watches see is encoded once for each format and not once for
// each watch. It works because stored objects never change.
//
// Two generations bound it: what was not asked for while one of them filled up is
// forgotten. Its methods may be called from any goroutine.
type encodings struct {
	mu         sync.Mutex
	young, old map[encodingKey]*encoding
	bytes      int // in young
}

type encodingKey struct {
	object  apiserver.Object
	kind    schema.GroupVersionKind
	media   media
	convert schema.GroupVersionKind
}

// encoding is made by whoever asks first; the others wait for it.
type encoding struct {
	once sync.Once
	data []byte
	err  error
}

// generationBytes is how much one generation holds: 10,000 pods, roughly.
const generationBytes = 32 << 20

// get returns the encoding of obj. Nobody may change it.
func (c *encodings) get(e *encoder, obj apiserver.Object) ([]byte, error) {
	made, counted := c.find(encodingKey{obj, e.kind, e.format.media, e.format.convert})
	made.once.Do(func() { made.data, made.err = e.event(obj) })
	if !counted {
		c.count(len(made.data))
	}
	return made.data, made.err
}

// find returns the entry of key, and whether it is in the young generation since
// before.
func (c *encodings) find(key encodingKey) (*encoding, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.young[key]; ok {
		return made, true
	}
	made, ok := c.old[key]
	if !ok {
		made = &encoding{}
	}
	if c.young == nil {
		c.young = map[encodingKey]*encoding{}
	}
	c.young[key] = made
	return made, false
}

// count adds to the size of the young generation, and ends it when it is full.
func (c *encodings) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes += n; c.bytes > generationBytes {
		c.young, c.old, c.bytes = nil, c.young, 0
	}
}
