package home

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	podIPRetry = 500 * time.Millisecond
	podIPWait  = 90 * time.Second
)

// EndpointHost is the Pod's IP of the configured family. The last Pod stored is
// consulted first. An agent asks before Run, and can start before the kubelet has
// written the address, so the home then reads the Pod every half second for up to a
// minute and a half. Close, or the end of Run's context, cuts the wait short. It
// returns "" when the Pod has no address of that family in time; the unix family has
// none.
func (h *Home) EndpointHost() string {
	if h.cfg.Family == Unix {
		return ""
	}
	if host := h.address(h.storedPod()); host != "" {
		return host
	}
	until := h.clock.Monotonic() + podIPWait
	var last error
	for h.waiting.Err() == nil {
		// A server that is silent must not have all the time to itself.
		limit := min(h.cfg.Poll, max(until-h.clock.Monotonic(), podIPRetry))
		ctx, cancel := h.clock.WithTimeout(h.waiting, limit)
		pod, err := h.observePod(ctx, false)
		cancel()
		if host := h.address(pod); host != "" {
			return host
		}
		last = err
		if h.clock.Monotonic()+podIPRetry > until {
			break
		}
		if h.clock.Sleep(h.waiting, podIPRetry) != nil {
			return ""
		}
	}
	if h.waiting.Err() != nil {
		return ""
	}
	if last != nil {
		h.log.Info("The Pod has no address yet, and cannot be read", "family", h.cfg.Family, "error", last.Error())
	} else {
		h.log.Info("The Pod has no address", "family", h.cfg.Family)
	}
	return ""
}

// address returns the first address of the family, or "".
func (h *Home) address(pod *corev1.Pod) string {
	if pod == nil {
		return ""
	}
	candidates := []string{pod.Status.PodIP}
	if len(pod.Status.PodIPs) > 0 {
		candidates = nil
		for _, ip := range pod.Status.PodIPs {
			candidates = append(candidates, ip.IP)
		}
	}
	for _, c := range candidates {
		if ip, err := netip.ParseAddr(c); err == nil && ip.Unmap().Is4() == (h.cfg.Family == Inet4) {
			return c
		}
	}
	return ""
}
