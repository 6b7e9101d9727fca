package sidecar

import (
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"

	"github.com/seedbed-sim/seedbed/core/encryption/state"
)

// File is one that a plugin refers to. Its content is secret.
type File struct {
	KeyID uint64 // of the plugin
	Path  string // below Options.HostData
	Data  []byte
}

// Files returns what the plugins of a configuration refer to, where [Render] lets
// them look for it, in the order of the plugins. On is what is in cfg.
func Files(cfg *corev1.Secret, on state.State) ([]File, error) {
	keys := kmsKeys(on)
	var files []File
	for i := range keys {
		p, err := newPlugin(&keys[i])
		if err != nil {
			return nil, fmt.Errorf("render key %d: %w", keys[i].ID, err)
		}
		for _, item := range p.items() {
			files = append(files, File{KeyID: keys[i].ID, Path: path.Join(ContainerPrefix+p.id, item.Path), Data: cfg.Data[item.Key]})
		}
	}
	return files, nil
}
