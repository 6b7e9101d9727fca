package gossipkeys

// View is what CEL sees as gossipkeys.
type View struct {
	Agents []AgentView `cel:"agents"`

	Secret            []string `cel:"secret"`
	SecretVersions    int      `cel:"secretVersions"`
	ProvisionerWrites int      `cel:"provisionerWrites"`
	Reconciles        int      `cel:"reconciles"`
	InvalidReconciles int      `cel:"invalidReconciles"`
	Deaths            int      `cel:"deaths"`
	DecryptFailures   int      `cel:"decryptFailures"`
	Deliveries        int      `cel:"deliveries"`
	Replayed          int      `cel:"replayed"`
	ReplaysRefused    int      `cel:"replaysRefused"`
}

// AgentView is one node's agent.
type AgentView struct {
	Node      string   `cel:"node"`
	Ready     bool     `cel:"ready"`
	Members   []string `cel:"members"`
	Delivered []string `cel:"delivered"`
	Ring      []string `cel:"ring"`
}

func view(s *State) View {
	last := s.history.last()
	v := View{
		Agents: make([]AgentView, len(s.nodes)), Secret: s.ledger.namesOf(last.keys), SecretVersions: len(s.history.versions) - 1,
		Reconciles: s.count.reconciles, InvalidReconciles: s.count.invalidReconciles,
		Deaths: s.count.leaves, DecryptFailures: s.count.decryptFailures,
		Deliveries: s.count.deliveries, Replayed: s.replayed, ReplaysRefused: s.replaysRefused,
	}
	for _, version := range s.history.versions {
		if version.writer == controllerUser {
			v.ProvisionerWrites++
		}
	}
	for i, n := range s.nodes {
		a := AgentView{Node: n.name, Delivered: s.ledger.namesOf(n.delivered), Ring: []string{}}
		if n.agent != nil {
			a.Ready, a.Members = n.agent.Ready(), n.agent.Members()
		}
		if n.up() {
			a.Ring = s.ringNames(n)
		}
		v.Agents[i] = a
	}
	return v
}
