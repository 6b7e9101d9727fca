package live

import clientscheme "k8s.io/client-go/kubernetes/scheme"

// Restore reads a request as a journal keeps it.
func Restore(text []byte) (*Request, error) {
	r := &Request{}
	return r, r.restore(text, clientscheme.Scheme)
}
