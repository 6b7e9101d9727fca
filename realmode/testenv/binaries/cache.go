package binaries

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// cacheVariable names the folder of the cache, if it is set.
const cacheVariable = "SEEDBED_TESTENV"

func cacheFolder() (string, error) {
	if dir := os.Getenv(cacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for what is built (%s can name one): %w", cacheVariable, err)
	}
	return filepath.Join(dir, "seedbed", "testenv"), nil
}

// pinsFolder is where the modules with the pins are. They are no part of the
// module that is published, so only a checkout has them.
func pinsFolder(ctx context.Context) (string, error) {
	const module = "github.com/seedbed-sim/seedbed"
	out, err := goCommand(ctx, "", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return "", fmt.Errorf("find the checkout of seedbed around the working directory: %w", err)
	}
	dir := filepath.Join(string(bytes.TrimSpace(out)), "realmode", "testenv", "pins")
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("find the versions to build; work in a checkout of seedbed: %w", err)
	}
	return dir, nil
}

// requiredVersion reads from the go.mod in dir which version of a module it
// requires.
func requiredVersion(ctx context.Context, dir, module string) (string, error) {
	out, err := goCommand(ctx, dir, "mod", "edit", "-json")
	if err != nil {
		return "", fmt.Errorf("read the pins of %s: %w", module, err)
	}
	var file struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &file); err != nil {
		return "", fmt.Errorf("read the pins of %s: %w", module, err)
	}
	for _, r := range file.Require {
		if r.Path == module {
			return r.Version, nil
		}
	}
	return "", fmt.Errorf("%s does not require %s", filepath.Join(dir, "go.mod"), module)
}

// cacheKey is a short hash of everything that decides what comes out of a build.
func cacheKey(ctx context.Context, dir, linkerFlags string) (string, error) {
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", fmt.Errorf("read the pins: %w", err)
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(data), data)
	}
	platform, err := goCommand(ctx, dir, "env", "GOVERSION", "GOOS", "GOARCH")
	if err != nil {
		return "", fmt.Errorf("ask for the platform: %w", err)
	}
	fmt.Fprintf(hash, "%s%s\n", platform, linkerFlags)
	return hex.EncodeToString(hash.Sum(nil))[:12], nil
}
