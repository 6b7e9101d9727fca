// Command generate writes the manifests of package deploy into its folder, where go
// generate calls it.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seedbed-sim/seedbed/realmode/deploy"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func write() error {
	files, err := deploy.Files()
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
