package main

import (
	"io"
	"testing"

	"github.com/spf13/pflag"

	"github.com/seedbed-sim/seedbed/core/encryption/preflightpod"
)

// TestFlagsOfThePod: the Pod that the controllers make is given flags that there are, and
// which suffice.
func TestFlagsOfThePod(t *testing.T) {
	t.Setenv(preflightpod.PodNameVariable, "kms-preflight")
	t.Setenv(preflightpod.PodNamespaceVariable, "seedbed-encryption")
	o := &options{}
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.SetOutput(io.Discard)
	o.define(f)
	err := f.Parse([]string{"--" + preflightpod.ConfigHashFlag + "=h", "--" + preflightpod.SocketsFlag + "=unix:///var/run/kmsplugin/kms-2.sock,unix:///var/run/kmsplugin/kms-1.sock"})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.check(); err != nil {
		t.Error(err)
	}
	if len(o.sockets) != 2 || o.podName != "kms-preflight" || o.podNamespace != "seedbed-encryption" {
		t.Errorf("got %+v", o)
	}
}
