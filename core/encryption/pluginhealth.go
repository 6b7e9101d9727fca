package encryption

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seedbed-sim/seedbed/core/encryption/v1alpha1"
)

// ReportAge is how old a report of a plugin may be to count.
const ReportAge = 3 * time.Minute

// pluginReports are those of the plugin of one key.
type pluginReports struct {
	// KEK is the id that the plugin gives to its key on all nodes; empty if it is not
	// well on all, or they differ. Why says so.
	kek, why string

	// Nodes are how many there are, sick those of them that report that the plugin
	// answers wrongly or not at all.
	nodes int
	sick  []string
}

// pluginReports returns what nodes report of the plugin of a key now.
func (c *Component) pluginReports(ctx context.Context, id uint64) (pluginReports, error) {
	states, err := c.Reports.NodeReports(ctx)
	if err != nil {
		return pluginReports{}, fmt.Errorf("read the reports of nodes: %w", err)
	}
	r := pluginReports{nodes: len(states)}
	if len(states) == 0 {
		r.why = "no node is known"
	}
	for i := range states {
		node, p := states[i].Name, pluginOf(&states[i], id)
		switch {
		case p == nil, c.Clock.Since(p.LastChecked.Time) > ReportAge:
			r.why = fmt.Sprintf("node %s reports nothing new of the plugin", node)
		case p.Status != v1alpha1.PluginHealthy:
			r.sick = append(r.sick, node)
			r.why = fmt.Sprintf("the plugin is not well on node %s: %s", node, p.Message)
		case p.KEKID == "":
			r.why = fmt.Sprintf("the plugin on node %s gives its key no id", node)
		case r.kek == "":
			r.kek = p.KEKID
		case r.kek != p.KEKID:
			r.why = fmt.Sprintf("the plugin gives its key the id %q on node %s, and %q on another", p.KEKID, node, r.kek)
		}
	}
	if r.why != "" {
		r.kek = ""
	}
	return r, nil
}

func pluginOf(s *v1alpha1.EncryptionNodeState, id uint64) *v1alpha1.PluginHealth {
	for i := range s.Status.Plugins {
		if p := &s.Status.Plugins[i]; p.KeyID == strconv.FormatUint(id, 10) {
			return p
		}
	}
	return nil
}
