package serve

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// written is the first line of every kubeconfig that this package writes, by which it
// knows its own.
const written = "# Written by seedbed serve.\n"

// Kubeconfig is a kubeconfig for the cluster, with the token of its administrator.
func (s *Server) Kubeconfig() []byte {
	return fmt.Appendf(nil, written+`apiVersion: v1
kind: Config
clusters:
- name: seedbed
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: admin
  user:
    token: %s
contexts:
- name: seedbed
  context:
    cluster: seedbed
    user: admin
current-context: seedbed
`, s.url, base64.StdEncoding.EncodeToString(s.identity.ca), s.token)
}

// ErrNotOurs says that a file exists which this package has not written.
var ErrNotOurs = errors.New("the file exists and was not written by seedbed serve")

// CheckKubeconfig reports whether a kubeconfig may be written to path: there is
// nothing, or one of an earlier server.
func CheckKubeconfig(path string) error {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !bytes.HasPrefix(content, []byte(written)):
		return ErrNotOurs
	}
	return nil
}

// WriteKubeconfig writes the kubeconfig of the cluster for its owner's eyes only,
// whatever is there.
func (s *Server) WriteKubeconfig(path string) error {
	// A new file, since an old one may be readable by others, or a link.
	draft := path + ".new"
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(s.Kubeconfig())
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(draft))
	}
	return os.Rename(draft, path)
}
