// Package free is bound by no rule.
package free

import "time"

func run(m map[string]int) {
	for k := range m {
		go println(k, time.Now())
	}
}
