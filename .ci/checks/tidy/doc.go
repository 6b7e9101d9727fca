// Package tidy holds the tests of the tree itself: sizes, names, words and
// links. Each rule is a function from files to findings, so that a test can show
// that it finds something; TestTree runs them all over the repository.
//
// What needs types or the import graph is not here: seedbedvet and golangci-lint
// have that. A file or function that may be longer than the others stands in
// allowed.go with its reason.
package tidy
