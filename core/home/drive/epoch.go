package drive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seedbed-sim/seedbed/core/home"
)

const (
	epochFile  = "epoch"
	epochTemp  = ".epoch.tmp"
	epochLimit = 64
)

// raiseEpoch raises the epoch in a directory by one and returns it. It never repeats:
// a file that cannot be understood becomes the current time in seconds, which no
// epoch that was counted has reached, and a file that cannot be read is an error.
func raiseEpoch(ctx context.Context, files home.Files, dir string, now time.Time) (uint64, error) {
	name := path.Join(dir, epochFile)
	content, err := files.ReadFile(ctx, name, epochLimit)
	var epoch uint64
	switch {
	case errors.Is(err, fs.ErrNotExist):
		epoch = 1
	case err != nil:
		return 0, fmt.Errorf("read the epoch: %w", err)
	default:
		last, err := strconv.ParseUint(strings.TrimSpace(string(content)), 10, 63)
		if err != nil {
			epoch = uint64(max(now.Unix(), 1))
		} else {
			epoch = last + 1
		}
	}
	if err := writeEpoch(ctx, files, dir, epoch); err != nil {
		return 0, fmt.Errorf("write epoch %d: %w", epoch, err)
	}
	return epoch, nil
}

// writeEpoch replaces the file as a whole, for good.
func writeEpoch(ctx context.Context, files home.Files, dir string, epoch uint64) error {
	temp, name := path.Join(dir, epochTemp), path.Join(dir, epochFile)
	if err := files.WriteFile(ctx, temp, []byte(strconv.FormatUint(epoch, 10)+"\n")); err != nil {
		return err
	}
	if err := files.Sync(ctx, temp); err != nil {
		return err
	}
	if err := files.Rename(ctx, temp, name); err != nil {
		return err
	}
	return files.SyncDir(ctx, dir)
}
