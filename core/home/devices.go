package home

import (
	"context"
	"strings"

	"github.com/seedbed-sim/seedbed/core/home/grant"
)

// DeviceChannel is how devices reach a grant's engine.
type DeviceChannel struct {
	// Kind is "dra" when the Pod has ResourceClaims, "static" when it has only
	// configured devices, and empty when it has none.
	Kind string
	// Detail names the claims, joined by commas.
	Detail string
	// Devices are device paths or ids.
	Devices []string
}

// Kinds of channels.
const (
	DevicesDRA    = "dra"
	DevicesStatic = "static"
)

// Devices is the Pod's ResourceClaims with the devices that the driver exposed, a
// static set when the Pod has devices but no claim, and nothing otherwise. The claims
// are the Pod's, so there is nothing to release per grant. The Pod is read first when
// it has not been yet; a read that fails never fails the admission, which nobody would
// retry before the grant changes.
func (h *Home) Devices(ctx context.Context, _ grant.Grant) (DeviceChannel, func(), error) {
	pod := h.storedPod()
	if pod == nil {
		ctx, cancel := h.clock.WithTimeout(ctx, h.cfg.Poll)
		defer cancel()
		pod = h.readPod(ctx, false)
	}
	channel := DeviceChannel{Devices: h.devices()}
	var claims []string
	if pod != nil {
		claims = claimNames(pod)
	}
	switch {
	case len(claims) > 0:
		channel.Kind, channel.Detail = DevicesDRA, strings.Join(claims, ",")
	case len(channel.Devices) > 0:
		channel.Kind = DevicesStatic
	default:
		channel = DeviceChannel{}
	}
	return channel, func() {}, nil
}
