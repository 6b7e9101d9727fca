package cluster

// ActiveFault is a fault that may strike now.
type ActiveFault struct {
	// ID tells it from all others that the run has had.
	ID int

	// Fault is what was asked for, with the defaults of its kind.
	Fault Fault
}

// ActiveFaults returns the faults that may strike now, in the order in which they
// began.
func (c *Cluster) ActiveFaults() []ActiveFault {
	active := make([]ActiveFault, len(c.faults.active))
	for i, a := range c.faults.active {
		active[i] = ActiveFault{a.id, a.fault}
	}
	return active
}

// Inject switches a fault on from outside, until Clear or its Until. Unlike
// StartFault it does so after faults have ceased as well: somebody wants to see what
// happens.
func (c *Cluster) Inject(f Fault) (ActiveFault, error) {
	if err := f.Validate(); err != nil {
		return ActiveFault{}, err
	}
	a := c.switchOn(f)
	c.emit("story", "", "inject", f.Kind, uint64(a.id), "somebody outside switches on the fault "+f.Kind)
	return ActiveFault{a.id, a.fault}, nil
}

// Clear switches one fault off, with its effects, and reports whether there was
// such a fault.
func (c *Cluster) Clear(id int) bool {
	for _, a := range c.faults.active {
		if a.id == id {
			c.emit("story", "", "clear", a.kind.Name, uint64(id), "somebody outside switches off the fault "+a.kind.Name)
			c.stopFault(a)
			return true
		}
	}
	return false
}
