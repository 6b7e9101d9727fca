package home

import "time"

// View is what CEL sees as home.
type View struct {
	Pods  []PodView  `cel:"pods"`
	Lives []LifeView `cel:"lives"`
}

// PodView is a Pod as the API has it, with the home that runs in it.
type PodView struct {
	Name       string   `cel:"name"`
	Generation int      `cel:"generation"` // how many Pods of this name there have been
	Exists     bool     `cel:"exists"`
	Condition  string   `cel:"condition"` // of readiness; empty: there is none
	Ready      bool     `cel:"ready"`     // what the kubelet says of the Pod
	Restarts   int      `cel:"restarts"`
	Home       LifeView `cel:"home"`
}

// LifeView is one home, from New until its process ends.
type LifeView struct {
	Pod        string   `cel:"pod"`
	Generation int      `cel:"generation"`
	Start      int      `cel:"start"` // which one of the Pod's container it is
	Running    bool     `cel:"running"`
	Refused    string   `cel:"refused"` // why New failed
	NewSeconds int      `cel:"newSeconds"`
	Healthy    bool     `cel:"healthy"`
	Unwell     int      `cel:"unwell"` // how often it became unhealthy
	Warm       bool     `cel:"warm"`
	Admitted   int      `cel:"admitted"` // grants
	Answer     string   `cel:"answer"`   // to who wants a worker
	Epoch      int      `cel:"epoch"`
	Built      int      `cel:"built"` // templates
	Devices    string   `cel:"devices"`
	Address    string   `cel:"address"`
	Losses     []string `cel:"losses"`
	Patches    []bool   `cel:"patches"`
	Added      int      `cel:"added"`
	Removed    []string `cel:"removed"`
	Attempts   int      `cel:"attempts"` // at its grant, while it ran
	HasFile    bool     `cel:"hasFile"`
	Lapsed     bool     `cel:"lapsed"` // the file's lease has ended
	OwnGrant   bool     `cel:"ownGrant"`
	Requests   int      `cel:"requests"` // to the API
}

func view(s *State) View {
	v := View{Pods: make([]PodView, len(s.slots)), Lives: make([]LifeView, len(s.lives))}
	for i, sl := range s.slots {
		p := PodView{Name: sl.name, Generation: sl.generation, Home: LifeView{Losses: []string{}, Patches: []bool{}, Removed: []string{}}}
		if o := s.last[sl.name]; o != nil && string(o.UID) == sl.pod.uid {
			p.Exists, p.Condition, p.Ready = true, conditionOf(o), isReady(o)
			for _, c := range o.Status.ContainerStatuses {
				p.Restarts = int(c.RestartCount)
			}
		}
		if n := len(sl.pod.lives); n > 0 {
			p.Home = sl.pod.lives[n-1].view()
		}
		v.Pods[i] = p
	}
	for i, l := range s.lives {
		v.Lives[i] = l.view()
	}
	return v
}

func (l *life) view() LifeView {
	v := LifeView{
		Pod: l.pod.slot.name, Generation: l.pod.generation, Start: l.n, Running: l.watched(), Refused: l.refused,
		NewSeconds: int((l.made + time.Second/2) / time.Second), Unwell: l.unwell, Built: l.built, Devices: l.channel,
		Address: l.address, Losses: append([]string{}, l.losses...), Patches: append([]bool{}, l.patches...),
		Added: l.lane.added, Removed: append([]string{}, l.lane.removed...), Attempts: l.attempts, Requests: l.requests,
	}
	if l.making {
		v.NewSeconds = 0
	}
	if f, there := l.pod.volumes.dir.files[grantName]; there {
		v.HasFile, v.Lapsed = true, f.peeked.Expired(l.state.world.Engine().Now())
	}
	if l.home != nil && !l.dead {
		v.Healthy, v.Warm = l.wasWell, l.home.Ready()
		_, v.OwnGrant = l.home.OwnGrant()
	}
	if l.books != nil && !l.dead {
		v.Admitted, v.Epoch, v.Answer = len(l.books.Admitted()), int(l.books.Epoch()), string(l.books.Ask(l.wasWell))
	}
	return v
}
