package cloak

// View is what CEL sees as cloak.
type View struct {
	Pods   []PodView `cel:"pods"`
	Events int       `cel:"events"`
}

// PodView is one workload.
type PodView struct {
	Name       string `cel:"name"`
	Running    bool   `cel:"running"`
	Refused    int    `cel:"refused"`    // creations
	Exchanges  int    `cel:"exchanges"`  // all that it has sent
	Arrived    int    `cel:"arrived"`    // with all values in place
	InARow     int    `cel:"inARow"`     // of those, the latest
	Withheld   int    `cel:"withheld"`   // with a placeholder left
	Unresolved int    `cel:"unresolved"` // not sent, for want of an address
}

func view(s *State) View {
	v := View{Pods: make([]PodView, len(s.works)), Events: s.events}
	for i, w := range s.works {
		v.Pods[i] = PodView{
			Name: w.config.Name, Running: w.run != nil, Refused: w.refused, Exchanges: w.exchanges,
			Arrived: w.arrived, InARow: w.inARow, Withheld: w.withheld, Unresolved: w.unresolved,
		}
	}
	return v
}
