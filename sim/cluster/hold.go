package cluster

// Hold pauses the process until the returned function is called, which may
// happen more than once or after the process has ended. Pauses overlap: the
// process goes on when the last one ends.
func (p *Process) Hold() (goOn func()) {
	release := p.hold()
	return func() {
		if release != nil {
			release()
			release = nil
		}
	}
}
