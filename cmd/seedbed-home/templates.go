package main

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/go-logr/logr"

	"github.com/seedbed-sim/seedbed/core/home"
	"github.com/seedbed-sim/seedbed/core/home/grant"
)

// templates has templates built by a program, or by nobody.
type templates struct {
	command string
	log     logr.Logger
}

// outputMax is how much of what the program says is shown when it fails.
const outputMax = 500

// Warm implements drive.Templates.
func (t *templates) Warm(ctx context.Context, g grant.Grant, devices home.DeviceChannel) error {
	if t.command == "" {
		return nil
	}
	args := append([]string{g.UID, g.TemplateDigest}, devices.Devices...)
	out, err := exec.CommandContext(ctx, t.command, args...).CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(out))
		return fmt.Errorf("%s: %w: %s", t.command, err, said[:min(len(said), outputMax)])
	}
	t.log.Info("A template is warm", "grant", g.UID, "devices", devices.Kind)
	return nil
}

// Cool implements drive.Templates. What a program has built ends with its own workers.
func (t *templates) Cool(_ context.Context, uid string) {
	t.log.Info("A template is not needed any more", "grant", uid)
}
