package nodeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
)

// index has the names of the files that the agent has written, by what they belong to:
// the number of a revision, or the plugin of a key. It is written before they are: what
// it does not have is not there.
type index map[string][]string

func (a *Agent) indexFile() string { return path.Join(a.cfg.Dir, "files.json") }

func (a *Agent) readIndex(ctx context.Context) (index, error) {
	raw, err := a.read(ctx, a.indexFile())
	if err != nil {
		return nil, err
	}
	files := index{}
	if raw == nil {
		return files, nil
	}
	if err := json.Unmarshal(raw, &files); err != nil {
		return nil, fmt.Errorf("decode %s: %w", a.indexFile(), err)
	}
	return files, nil
}

func (a *Agent) writeIndex(ctx context.Context, files index) error {
	raw, err := json.Marshal(files)
	if err != nil {
		return fmt.Errorf("encode %s: %w", a.indexFile(), err)
	}
	_, err = a.replace(ctx, a.indexFile(), raw)
	return err
}

// remember adds files that are about to be written.
func (a *Agent) remember(ctx context.Context, owner string, names []string) error {
	files, err := a.readIndex(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.Contains(files[owner], name) {
			files[owner] = append(files[owner], name)
		}
	}
	return a.writeIndex(ctx, files)
}

// drop removes the files of some owners.
func (a *Agent) drop(ctx context.Context, which func(owner string) bool) error {
	files, err := a.readIndex(ctx)
	if err != nil {
		return err
	}
	dropped := false
	for _, owner := range slices.Sorted(maps.Keys(files)) {
		if !which(owner) {
			continue
		}
		if err := a.remove(ctx, files[owner]...); err != nil {
			return err
		}
		delete(files, owner)
		dropped = true
	}
	if !dropped {
		return nil
	}
	return a.writeIndex(ctx, files)
}
