package engine

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// scheduleJSON is the stored form of a schedule, version 1. Names stand in tables
// and are referred to by index, because a long run mentions few names often.
type scheduleJSON struct {
	Version int         `json:"version"`
	Entropy string      `json:"entropy,omitempty"` // hexadecimal: JSON readers round large numbers
	Tasks   []string    `json:"tasks,omitempty"`
	Blocks  [][2]int    `json:"blocks,omitempty"` // task, steps
	Labels  []string    `json:"labels,omitempty"`
	Picks   [][3]uint64 `json:"picks,omitempty"` // label, nth, value
}

// MarshalJSON writes the compact form. Equal schedules give equal bytes.
func (s Schedule) MarshalJSON() ([]byte, error) {
	j := scheduleJSON{Version: 1}
	if s.Entropy != 0 {
		j.Entropy = strconv.FormatUint(s.Entropy, 16)
	}
	index := map[string]int{}
	for _, b := range s.Blocks {
		j.Blocks = append(j.Blocks, [2]int{intern(&j.Tasks, index, b.Task), b.Steps})
	}
	clear(index)
	for _, p := range s.Picks {
		j.Picks = append(j.Picks, [3]uint64{uint64(intern(&j.Labels, index, p.Label)), p.Nth, p.Value})
	}
	return json.Marshal(j)
}

// intern returns the index of name in table, and adds it if it is new.
func intern(table *[]string, index map[string]int, name string) int {
	i, ok := index[name]
	if !ok {
		i = len(*table)
		index[name] = i
		*table = append(*table, name)
	}
	return i
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Schedule) UnmarshalJSON(data []byte) error {
	var j scheduleJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	if j.Version != 1 {
		return fmt.Errorf("schedule: version %d is not supported, only 1", j.Version)
	}
	var out Schedule
	if j.Entropy != "" {
		var err error
		if out.Entropy, err = strconv.ParseUint(j.Entropy, 16, 64); err != nil {
			return fmt.Errorf("schedule: entropy: %w", err)
		}
	}
	for i, b := range j.Blocks {
		if b[0] < 0 || b[0] >= len(j.Tasks) || b[1] < 1 {
			return fmt.Errorf("schedule: block %d: no such task, or fewer than one step", i)
		}
		out.Blocks = append(out.Blocks, Block{j.Tasks[b[0]], b[1]})
	}
	for i, p := range j.Picks {
		if p[0] >= uint64(len(j.Labels)) {
			return fmt.Errorf("schedule: pick %d: no such label", i)
		}
		out.Picks = append(out.Picks, Pick{j.Labels[p[0]], p[1], p[2]})
	}
	*s = out
	return nil
}
