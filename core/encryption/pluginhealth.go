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

	// Nodes are how many there are, runs how many of them have ever reported that they run
	// the plugin. Sick are those that report that it answers wrongly or not at all, and
	// well is how many report that it is well.
	nodes, runs, well int
	sick              []string
}

// dead reports whether the plugin is dead wherever it runs. A node that has not reported
// for a while may have one that is well.
func (r *pluginReports) dead() bool { return r.runs > 0 && len(r.sick) == r.runs }

// alive reports whether the plugin is well wherever it runs.
func (r *pluginReports) alive() bool { return r.runs > 0 && r.well == r.runs }

// pluginReports returns what nodes report of the plugin of a key now.
func (c *Component) pluginReports(ctx context.Context, id uint64) (pluginReports, error) {
	states, err := c.Reports.NodeReports(ctx)
	if err != nil {
		return pluginReports{}, fmt.Errorf("read the reports of nodes: %w", err)
	}
	return c.reportsOf(states, id), nil
}

// reportsOf returns what the states of all nodes say of the plugin of a key.
func (c *Component) reportsOf(states []v1alpha1.EncryptionNodeState, id uint64) pluginReports {
	r := pluginReports{nodes: len(states)}
	if len(states) == 0 {
		r.why = "no node is known"
	}
	for i := range states {
		node, p := states[i].Name, pluginOf(&states[i], id)
		if p != nil {
			r.runs++
		}
		switch {
		case p == nil, c.Clock.Since(p.LastChecked.Time) > ReportAge:
			r.why = fmt.Sprintf("node %s reports nothing new of the plugin", node)
		case p.Status != v1alpha1.PluginHealthy:
			r.sick = append(r.sick, node)
			r.why = fmt.Sprintf("the plugin is not well on node %s: %s", node, p.Message)
		default:
			r.well++
			r.agree(node, p.KEKID)
		}
	}
	if r.why != "" {
		r.kek = ""
	}
	return r
}

// agree takes in the id that a plugin gives to its key on a node.
func (r *pluginReports) agree(node, kek string) {
	switch {
	case kek == "":
		r.why = fmt.Sprintf("the plugin on node %s gives its key no id", node)
	case r.kek == "":
		r.kek = kek
	case r.kek != kek:
		r.why = fmt.Sprintf("the plugin gives its key the id %q on node %s, and %q on another", kek, node, r.kek)
	}
}

func pluginOf(s *v1alpha1.EncryptionNodeState, id uint64) *v1alpha1.PluginHealth {
	for i := range s.Status.Plugins {
		if p := &s.Status.Plugins[i]; p.KeyID == strconv.FormatUint(id, 10) {
			return p
		}
	}
	return nil
}
