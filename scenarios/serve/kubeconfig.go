package serve

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

// written is the first line of every kubeconfig that this package writes, by which it
// knows its own.
const written = "# Written by seedbed serve.\n"

// Names in a kubeconfig: of the cluster and its context, and of the user.
const (
	kubeName  = "seedbed"
	kubeAdmin = "admin"
)

// Kubeconfig is a kubeconfig for the cluster, with the token of its administrator.
func (s *Server) Kubeconfig() []byte {
	return fmt.Appendf(nil, written+`apiVersion: v1
kind: Config
clusters:
- name: %[1]s
  cluster:
    server: %[3]s
    certificate-authority-data: %[4]s
users:
- name: %[2]s
  user:
    token: %[5]s
contexts:
- name: %[1]s
  context:
    cluster: %[1]s
    user: %[2]s
current-context: %[1]s
`, kubeName, kubeAdmin, s.url, base64.StdEncoding.EncodeToString(s.identity.ca), s.token)
}

// ErrNotOurs says that a file exists which this package has not written.
var ErrNotOurs = errors.New("the file exists and was not written by seedbed serve")

// ErrServed says that a kubeconfig is that of a cluster which is there.
var ErrServed = errors.New("its cluster is still served")

// askTime is how long a cluster has to say that it is there.
const askTime = time.Second

// CheckKubeconfig reports whether a kubeconfig may be written to path: there is
// nothing, or one of an earlier server that has ended.
func CheckKubeconfig(ctx context.Context, path string) error {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !ours(content):
		return ErrNotOurs
	}
	client, err := Dial(path)
	if err != nil {
		return nil // nobody can use it
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if client.Do(ctx, http.MethodGet, "state", nil, nil) == nil {
		return ErrServed
	}
	return nil
}

// ours reports whether this package has written a kubeconfig. kubectl config may have
// rewritten it since, without the first line.
func ours(content []byte) bool {
	if bytes.HasPrefix(content, []byte(written)) {
		return true
	}
	config, err := clientcmd.Load(content)
	return err == nil && len(config.Clusters) == 1 && len(config.AuthInfos) == 1 &&
		config.Clusters[kubeName] != nil && config.AuthInfos[kubeAdmin] != nil
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
