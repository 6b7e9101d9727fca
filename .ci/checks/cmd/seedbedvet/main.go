// Seedbedvet refuses nondeterministic code; see package determinism for the
// rules. It is a vet tool:
//
//	go vet -vettool=$(pwd)/.ci/bin/seedbedvet ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/seedbed-sim/seedbed/ci/checks/determinism"
)

func main() {
	unitchecker.Main(determinism.Analyzer)
}
