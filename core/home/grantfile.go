package home

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/seedbed-sim/seedbed/core/home/grant"
	"github.com/seedbed-sim/seedbed/core/secret"
)

const (
	grantFile   = "grant.jwt"
	grantSuffix = ".jwt"

	// tempFile must not end in .jwt, or half a grant would be read.
	tempFile = ".grant.tmp"
)

var errNoLeftover = errors.New("the grants directory holds no unexpired grant of this Pod")

// writeGrant puts the grant in place of the last one. Whoever looks sees the one or
// the other, whole, at any time: a grant that is gone for a moment is a grant that is
// revoked.
func (h *Home) writeGrant(ctx context.Context, token secret.Bytes) error {
	files, name, temp := h.cfg.Files, h.inGrants(grantFile), h.inGrants(tempFile)
	content := token.Reveal()
	if there, err := files.ReadFile(ctx, name, grant.TokenMax+1); err == nil && bytes.Equal(there, content) {
		return nil
	}
	err := files.WriteFile(ctx, temp, content)
	if err == nil {
		err = files.Sync(ctx, temp)
	}
	if err == nil {
		err = files.Rename(ctx, temp, name)
	}
	if err != nil {
		return errors.Join(err, h.removeTemp(ctx))
	}
	return files.SyncDir(ctx, h.cfg.GrantsDir)
}

// removeTemp removes what there is of a file that could not be written.
func (h *Home) removeTemp(ctx context.Context) error {
	err := h.cfg.Files.Remove(ctx, h.inGrants(tempFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeStaleTemp removes what a container before this one has left.
func (h *Home) removeStaleTemp(ctx context.Context) {
	if err := h.removeTemp(ctx); err != nil && ctx.Err() == nil {
		h.log.Info("Cannot remove an unfinished grant file", "error", err.Error())
	}
}

// leftover returns an unexpired grant for this Pod that is in the directory. One of an
// earlier Pod of the same name has another id.
func (h *Home) leftover(ctx context.Context) (secret.Bytes, grant.Peeked, error) {
	names, err := h.cfg.Files.List(ctx, h.cfg.GrantsDir)
	if err != nil {
		return secret.Bytes{}, grant.Peeked{}, errors.Join(errNoLeftover, err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, grantSuffix) {
			continue
		}
		content, err := h.readGrant(ctx, name)
		if err != nil {
			continue // as good as not there
		}
		if token, p, err := h.accept(bytes.TrimSpace(content)); err == nil {
			return token, p, nil
		}
	}
	return secret.Bytes{}, grant.Peeked{}, errNoLeftover
}

// readGrant returns the content of a file in the grants directory, though no more of
// it than any grant can have and a byte. It wraps fs.ErrNotExist if that is no regular
// file.
func (h *Home) readGrant(ctx context.Context, name string) ([]byte, error) {
	regular, err := h.cfg.Files.Regular(ctx, h.inGrants(name))
	if err != nil {
		return nil, err
	}
	if !regular {
		return nil, fs.ErrNotExist
	}
	return h.cfg.Files.ReadFile(ctx, h.inGrants(name), grant.TokenMax+1)
}

func (h *Home) inGrants(name string) string { return path.Join(h.cfg.GrantsDir, name) }
