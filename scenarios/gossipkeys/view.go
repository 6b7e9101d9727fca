package gossipkeys

// View is what CEL sees as gossipkeys.
type View struct {
	Agents []AgentView `cel:"agents"`
}

// AgentView is one node's agent.
type AgentView struct {
	Node    string   `cel:"node"`
	Ready   bool     `cel:"ready"`
	Members []string `cel:"members"`
}

func view(s *State) View {
	v := View{Agents: make([]AgentView, len(s.nodes))}
	for i, n := range s.nodes {
		v.Agents[i].Node = n.name
		if n.agent != nil {
			v.Agents[i].Ready = n.agent.Ready()
			v.Agents[i].Members = n.agent.Members()
		}
	}
	return v
}
